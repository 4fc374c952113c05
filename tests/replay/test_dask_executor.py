"""The same replay on a Dask cluster: a small one on this machine, whose workers may be killed."""

import json
import os
import signal
from pathlib import Path

import pytest
from programs import DIFFERENCE, before_compiling, make_corpus, patched, record_of, run

distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

from replay.dask_executor import connected  # noqa: E402  # after it is known to be there
from replay.errors import WorkerError  # noqa: E402  # likewise
from replay.isolation.wire import Call, Done  # noqa: E402  # likewise
from replay.isolation.workers import Crew, Job  # noqa: E402  # likewise

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        yield cluster


def replay(capsys, corpus, *options):
    words = ("run", "--corpus", corpus, "--report", "json:-", "--verify", "none", "--no-skip")
    code, out, err = run(capsys, *words, *options)
    assert out, err
    return code, json.loads(out)


def test_the_report_is_that_of_a_replay_on_this_machine(capsys, tmp_path, cluster):
    corpus = make_corpus(
        tmp_path / "c", [record_of(DIFFERENCE.format(size=size)) for size in range(2, 8)]
    )
    trap = before_compiling(
        "import os; from compiler.ir import Op, toposort",
        "if [n for n in toposort(ast) if n.op is Op.BUFFER][0].attr[1] == 5: os.abort()",
    )
    options = ("--compiler", patched(tmp_path / "copy", trap))
    here = replay(capsys, corpus, *options)
    there = replay(capsys, corpus, *options, "--executor", cluster.scheduler_address)
    assert here == there
    assert here[1]["totals"]["crash"] == 1


def test_the_loss_of_a_worker_loses_no_answer(cluster):
    crew = Crew(environ=os.environ, paths=(HERE,), imports=("jobs_for_workers",))
    jobs = [Job(n, Call("jobs_for_workers:slow_echo", b"n%d" % n)) for n in range(24)]
    with connected(cluster.scheduler_address) as run_jobs:
        answers = run_jobs(iter(jobs), crew)
        first = next(answers)
        victim = next(iter(cluster.workers.values()))
        os.kill(victim.pid, signal.SIGKILL)
        found = {job.tag: reply for job, reply in (first, *answers)}
    assert found == {n: Done(b"n%d" % n) for n in range(24)}


def test_a_machine_with_other_code_refuses_in_one_line(cluster, tmp_path, monkeypatch):
    patched(tmp_path / "copy", before_compiling("assert ast"))
    monkeypatch.chdir(tmp_path / "copy")  # where the machines of the cluster are not
    crew = Crew(environ=os.environ, paths=(Path(),))
    with connected(cluster.scheduler_address) as run_jobs:
        answers = run_jobs(iter([Job(0, Call("jobs_for_workers:echo", b""))]), crew)
        with pytest.raises(WorkerError, match="has another compiler, replay or toolchain"):
            list(answers)


def test_a_cluster_that_is_not_there_is_one_line_and_exit_code_3(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("replay.dask_executor._CONNECT_S", 0.5)
    corpus = make_corpus(tmp_path / "c", [record_of(DIFFERENCE.format(size=4))])
    code, _, err = run(capsys, "run", "--corpus", corpus, "--executor", "tcp://127.0.0.1:1")
    assert (code, err.splitlines()[-1].startswith("replay: --executor tcp://127.0.0.1:1")) == (
        3,
        True,
    )
