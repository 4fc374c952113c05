import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from replay.errors import WorkerError
from replay.isolation.sandbox import landlock_version
from replay.isolation.wire import Call, Done, OutOfMemory, Raised
from replay.isolation.workers import Crew, Died, Job, Limits, TimedOut, run_jobs

HERE = Path(__file__).parent
LIMITS = Limits(time_s=2.0, memory_bytes=1 << 30)
CREW = Crew(environ=os.environ, limits=LIMITS, paths=(HERE,), imports=("jobs_for_workers",), size=2)


def job(name, tag=None, payload=b"x"):
    return Job(name if tag is None else tag, Call(f"jobs_for_workers:{name}", payload))


def replies(jobs, crew=CREW):
    return {job.tag: reply for job, reply in run_jobs(jobs, crew)}


def test_every_job_gets_its_own_answer():
    jobs = [job("echo", n, b"n%d" % n) for n in range(50)]
    assert replies(jobs) == {n: Done(b"N%d" % n) for n in range(50)}


def test_calls_and_answers_larger_than_a_pipe_do_not_wait_for_each_other():
    large = b"x" * (1 << 20)
    jobs = [job("echo", n, large) for n in range(6)]
    assert replies(jobs) == {n: Done(large.upper()) for n in range(6)}


def test_a_call_larger_than_a_pipe_to_a_worker_that_hangs_is_not_waited_for():
    jobs = [job("spin"), job("echo", "after", b"x" * (1 << 20))]
    crew = replace(CREW, size=1, limits=replace(LIMITS, time_s=0.5))
    assert [type(reply) for reply in replies(jobs, crew).values()] == [TimedOut, Done]


def test_no_job_gives_no_answer():
    assert replies([]) == {}


@pytest.mark.parametrize("size", [1, 4])
def test_bad_jobs_cost_only_themselves_and_are_named(size):
    bad = ["segfault", "abort", "babble", "spin", "fill", "fill_and_abort", "raise_error"]
    jobs = [job("echo", n) for n in range(12)]
    for place, name in enumerate(bad):
        jobs.insert(2 * place + 1, job(name))
    answers = replies(jobs, replace(CREW, size=size))
    assert all(answers.pop(n) == Done(b"X") for n in range(12))
    kinds = {tag: type(reply) for tag, reply in answers.items()}
    assert kinds == {
        "segfault": Died,
        "abort": Died,
        "babble": Died,
        "spin": TimedOut,
        "fill": OutOfMemory,
        "fill_and_abort": OutOfMemory,
        "raise_error": Raised,
    }
    assert answers["segfault"].reason == "signal 11 (SIGSEGV)"
    assert "Cannot select: t42" in answers["abort"].log
    assert answers["raise_error"].error == "KeyError: 'axis'"
    assert "in raise_error" in answers["raise_error"].traceback


def test_a_job_is_not_blamed_for_its_predecessor():
    crew = replace(CREW, size=1)
    answers = replies([job("leave_a_trap"), job("slow_echo"), job("echo")], crew)
    assert answers["slow_echo"] == Done(b"x")


def test_a_job_that_fills_the_memory_by_itself_is_not_asked_again(tmp_path):
    notes = tmp_path / "notes"
    crew = replace(
        CREW, size=1, sandboxed=False, limits=replace(LIMITS, memory_bytes=2 << 30, time_s=60.0)
    )
    answers = replies([job("echo"), job("fill_slowly", payload=str(notes).encode())], crew)
    assert isinstance(answers["fill_slowly"], OutOfMemory)
    assert notes.read_text() == "called\n"


def test_compiles_have_limits_of_their_own_that_are_never_wider():
    limits = Limits(time_s=60.0, memory_bytes=4 << 30, compile_s=20.0, compile_bytes=2 << 30)
    own = replace(CREW, limits=limits).compiling.limits
    assert (own.time_s, own.memory_bytes) == (20.0, 2 << 30)
    narrow = replace(limits, time_s=5.0, memory_bytes=1 << 30)
    own = replace(CREW, limits=narrow).compiling.limits
    assert (own.time_s, own.memory_bytes) == (5.0, 1 << 30)


def test_answers_that_wait_behind_one_that_ran_out_of_memory_are_given_once():
    jobs = [job("echo", 0), job("refuse_memory"), *[job("echo", n) for n in range(1, 9)]]
    answers = [tag.tag for tag, _ in run_jobs(jobs, replace(CREW, size=1))]
    assert sorted(map(str, answers)) == sorted(["refuse_memory", *map(str, range(9))])


def test_workers_have_different_hash_seeds():
    jobs = [job("slow_echo", 0), job("slow_echo", 1), job("seed", 2), job("seed", 3)]
    crew = replace(CREW, hash_seed=7)
    answers = replies(jobs, crew)
    assert {answers[2].payload, answers[3].payload} <= {b"7", b"8"}


def test_a_worker_that_cannot_start_is_one_clear_error():
    crew = replace(CREW, imports=("no_such_module",))
    with pytest.raises(WorkerError, match=r"worker did not start: .*no_such_module"):
        replies([job("echo")], crew)


@pytest.mark.skipif(landlock_version() == 0, reason="this kernel has no Landlock")
def test_a_sandboxed_worker_writes_nothing_outside_its_directory(tmp_path):
    target = tmp_path / "file"
    answers = replies([job("write_outside", payload=os.fsencode(target))])
    assert "PermissionError" in answers["write_outside"].error
    assert not target.exists()


def test_closing_early_leaves_no_worker(tmp_path):
    before = set(children())  # other tests' helpers may still be ending
    answers = run_jobs([job("echo", n) for n in range(20)], CREW)
    next(answers)
    answers.close()
    assert set(children()) <= before


def test_no_worker_outlives_a_parent_that_is_killed(tmp_path):
    note = tmp_path / "pid"
    code = f"""if True:
        import os
        from pathlib import Path
        from replay.isolation.wire import Call
        from replay.isolation.workers import Crew, Job, run_jobs
        crew = Crew(
            os.environ, paths=(Path({str(HERE)!r}),), imports=("jobs_for_workers",), sandboxed=False
        )
        job = Job(0, Call("jobs_for_workers:process_id", {os.fsencode(note)!r}))
        list(run_jobs([job], crew))
    """
    parent = subprocess.Popen([sys.executable, "-c", code])
    wait_until(lambda: note.exists() and note.read_text())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not alive(int(note.read_text())))


def children():
    listing = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
    return [int(word) for word in listing.split()]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").split()[2] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


# Linux counts what a process held before it became another program: a child starts with its
# parent's peak.
LARGE_PARENT = """
import os, sys
from pathlib import Path
sys.path[:0] = [{root!r}, {here!r}]
import test_workers
held = bytearray(b"x") * (300 << 20)
small = test_workers.replace(test_workers.LIMITS, memory_bytes=256 << 20)
crew = test_workers.replace(test_workers.CREW, limits=small)
answers = test_workers.replies([test_workers.job("segfault"), test_workers.job("abort")], crew)
print(*sorted(type(answer).__name__ for answer in answers.values()))
"""


def test_what_the_parent_holds_is_not_counted_against_a_job():
    program = LARGE_PARENT.format(root=str(HERE.parents[1]), here=str(HERE))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["Died", "Died"]
