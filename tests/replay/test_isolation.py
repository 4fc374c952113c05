"""One bad kernel costs only itself, however many workers there are and however it is bad."""

import json
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import DIFFERENCE, before_compiling, make_corpus, patched, record_of, run, small_asts

ROOT = Path(__file__).parents[2]
TRAP = before_compiling(
    "import os, ctypes; from compiler.ir import Op, toposort",
    "size = [n for n in toposort(ast) if n.op is Op.BUFFER][0].attr[1]",
    "if target.backend == 'llvm' and size == 4: os.abort()",
    "if target.backend == 'llvm' and size == 6: ctypes.string_at(0)",
    "while target.backend == 'opencl' and size == 4: pass",
    "full = []",
    # `bytes` counts but is never touched: a machine may take seconds to hand out a gigabyte
    "while target.backend == 'opencl' and size == 6: full.append(bytes(1 << 24))",
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """20 kernels, of which four are bad under a compiler with the trap."""
    asts = [*small_asts(), DIFFERENCE.format(size=8), DIFFERENCE.format(size=9)]
    records = [record_of(ast, backend) for ast in asts for backend in ("llvm", "opencl")]
    return make_corpus(tmp_path_factory.mktemp("corpora") / "twenty", records)


def test_four_bad_kernels_of_twenty_are_named_whatever_the_workers(capsys, tmp_path, corpus):
    copy = patched(tmp_path / "copy", TRAP)
    reports = []
    for jobs in ("1", "4"):
        words = ("run", "--corpus", corpus, "--compiler", copy, "--jobs", jobs, "--no-skip")
        limits = ("--record-timeout", "3", "--record-memory", "512", "--verify", "none")
        code, out, _ = run(capsys, *words, *limits, "--report", "json:-")
        assert code == 1
        reports.append(json.loads(out))
    one, four = reports
    assert one == four
    counts = {name: count for name, count in one["totals"].items() if count}
    assert counts == {"records": 20, "same": 16, "crash": 2, "timeout": 1, "memory": 1}
    bad = {record["key"] for record in one["records"] if record["outcome"] != "same"}
    assert {record["more"].split()[2] for record in one["records"]} >= {key[:12] for key in bad}


def test_with_usual_limits_they_cost_less_than_a_minute(capsys, tmp_path, corpus):
    """Of processor time: what other processes take is not theirs."""
    copy = patched(tmp_path / "copy", TRAP)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code, out, _ = run(capsys, "run", "--corpus", corpus, "--compiler", copy, "--jobs", "1")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert code == 1
    assert "16 same · 1 memory · 1 timeout · 2 crash" in out, out
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 60


def test_no_worker_outlives_a_command_that_is_killed(tmp_path, corpus):
    spin = before_compiling("while True: pass")
    copy = patched(tmp_path / "copy", spin)
    words = [sys.executable, "-m", "replay.cli", "run", "--corpus", corpus, "--compiler", copy]
    process = subprocess.Popen([str(word) for word in (*words, "--jobs", "2")], cwd=ROOT)
    wait_until(lambda: len(children_of(process.pid)) == 2)
    workers = children_of(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: not any(is_alive(pid) for pid in workers))


def children_of(pid):
    try:
        listing = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except FileNotFoundError:
        return []
    return [int(word) for word in listing.split()]


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").split()[2] != "Z"
    except FileNotFoundError:
        return False


def wait_until(holds):
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
