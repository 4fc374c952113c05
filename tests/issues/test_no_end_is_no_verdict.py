"""Found by replaying an old corpus on a busy machine: kernels that needed more than a minute there
were `wrong`.

A run that comes to no end, for want of time, of memory or of luck, says nothing of the numbers of
its kernel. Their kind: nothing that a machine does may look like what a kernel computes. Such a
kernel is `unfinished`, which no approval covers, so the gate stays closed all the same.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from replay.approvals import Ledger
from replay.gate import pass_or_fail, with_approvals
from replay.isolation.patience import starved_s
from replay.isolation.wire import Call, Done, OutOfMemory, Raised
from replay.isolation.workers import Crew, Died, Job, Limits, TimedOut, run_jobs
from replay.outcome import Numerics
from replay.patched import Patch
from replay.phases.judge import with_numerics
from replay.policy import DEFAULT

REPLAY_TESTS = Path(__file__).parents[1] / "replay"
sys.path.insert(0, str(REPLAY_TESTS))

from programs import DIFFERENCE, make_corpus, patched, record_of, run  # noqa: E402  # there
from results import changed  # noqa: E402  # likewise

CREW = Crew(
    environ=os.environ,
    limits=Limits(time_s=0.6),
    paths=(REPLAY_TESTS,),
    imports=("jobs_for_workers",),
    sandboxed=False,
)
BUILD = "module = llvm.parse_assembly(source)"
SLEEPY = Patch(
    "compiler/backends/llvm/compile.py",
    BUILD,
    f"__import__('time').sleep(60); {BUILD}",
)


def reply_to(name, payload=b"x"):
    [(_, reply)] = run_jobs([Job(name, Call(f"jobs_for_workers:{name}", payload))], CREW)
    return reply


@pytest.mark.parametrize(
    "reply",
    [
        TimedOut(60.0),
        OutOfMemory("bad_alloc"),
        Raised("OSError: no space left on device", ""),
        Died("signal 9 (SIGKILL)", "", by_another=True),
    ],
)
def test_a_run_without_an_end_is_unfinished_whatever_the_reason(reply):
    result = with_numerics(changed(1), reply)
    assert result.numerics is Numerics.UNFINISHED
    assert not pass_or_fail([result], DEFAULT).passed


def test_a_kernel_that_ends_its_own_process_is_wrong():
    result = with_numerics(changed(1), Died("signal 11 (SIGSEGV)", ""))
    assert result.numerics is Numerics.WRONG


def test_no_approval_covers_numbers_that_nobody_knows():
    class Anything(Ledger):
        def find(self, *_):
            raise AssertionError("the ledger was asked")

    result = with_numerics(changed(1), TimedOut(60.0))
    assert with_approvals([result], Anything({}, {})) == (result,)


def test_a_worker_that_is_killed_from_outside_is_given_another_chance(tmp_path):
    assert reply_to("be_killed_once", bytes(tmp_path / "been here")) == Done(b"alive")


def test_a_worker_that_is_killed_each_time_was_ended_by_another():
    reply = reply_to("be_killed")
    assert isinstance(reply, Died)
    assert reply.by_another


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="only Linux counts waiting")
def test_time_for_which_a_job_had_no_core_is_not_its_own():
    assert reply_to("work_in_a_crowd") == Done(b"done")


PAUSED = """
import sys
sys.path[:0] = [{root!r}, {here!r}]
from test_no_end_is_no_verdict import reply_to
print(reply_to("work", sys.argv[1].encode()))
"""


def test_time_for_which_the_machine_was_paused_is_nobodys(tmp_path):
    """As a container that is frozen and goes on: all its processes stand, the clock does not."""
    note = tmp_path / "who"
    program = PAUSED.format(root=str(Path(__file__).parents[2]), here=str(Path(__file__).parent))
    words = [sys.executable, "-c", program, str(note)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as parent:
        while not (note.exists() and note.read_text().endswith("\n")):
            assert parent.poll() is None
            time.sleep(0.01)
        everyone = (parent.pid, int(note.read_text()))
        for process in everyone:
            os.kill(process, signal.SIGSTOP)
        time.sleep(3)
        for process in everyone:
            os.kill(process, signal.SIGCONT)
        assert parent.communicate()[0].strip() == str(Done(b"done"))


def test_a_process_that_is_gone_was_not_starved():
    assert starved_s(2**22 + 1) == 0.0


def test_a_replay_out_of_time_says_unfinished_and_fails(capsys, tmp_path):
    corpus = make_corpus(tmp_path / "c", [record_of(DIFFERENCE.format(size=5))])
    copy = patched(tmp_path / "copy", SLEEPY)
    words = ("run", "--corpus", corpus, "--verify", "all", "--record-timeout", "0.5")
    code, out, _ = run(capsys, *words, "--compiler", copy, "--report", "json:-", "--jobs", "1")
    [record] = json.loads(out)["records"]
    assert (code, record["outcome"], record["numerics"]) == (1, "same", "unfinished")


def test_an_old_kernel_that_cannot_be_built_is_no_fault_of_the_new_one(capsys, tmp_path):
    record = msgspec.structs.replace(record_of(DIFFERENCE.format(size=5)), source="not LLVM IR")
    corpus = make_corpus(tmp_path / "c", [record])
    code, out, _ = run(capsys, "run", "--corpus", corpus, "--report", "json:-", "--jobs", "1")
    [found] = json.loads(out)["records"]
    assert (code, found["outcome"], found["numerics"]) == (1, "code", "exact")
    assert "the old kernel cannot run here" in found["numerics_reason"]
