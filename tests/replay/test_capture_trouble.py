"""`replay capture` where something is in its way, or gone: the program keeps its own result."""

import fcntl
import os
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from programs import DIFFERENCE

from compiler import Tensor, observing
from corpus import Status, Stored, check_corpus, open_reader
from replay.capture.environment import Capture
from replay.capture.launch import Program
from replay.capture.link import AWAITED, Link
from replay.capture.observer import Observer

ROOT = Path(__file__).parents[2]
PROGRAM = f"""
import os, signal, sys, time
from compiler import compile_kernel, find_target, parse_node
TEXT = '''{DIFFERENCE}'''
def compile(size):
    return compile_kernel(parse_node(TEXT.format(size=size)), find_target("llvm"))
"""
REPLAY = (sys.executable, "-m", "replay.cli")


def start(corpus, body, **options):
    """Start a capture of `body`."""
    words = (*REPLAY, "capture", "--corpus", corpus, "--", sys.executable, "-c")
    return subprocess.Popen(
        [*map(str, words), PROGRAM + body],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def finish(process):
    out, err = process.communicate(timeout=600)  # eight of them, on a machine that is busy
    return process.returncode, out, err


def sizes(corpus, status=Status.FINISHED):
    with open_reader(corpus, allow_empty=True) as reader:
        assert check_corpus(reader).is_whole
        records = [item.record for item in reader if isinstance(item, Stored)]
    return sorted(
        int(record.ast.split("size=")[1].split()[0])
        for record in records
        if record.status is status
    )


def test_eight_captures_into_one_corpus_lose_nothing_and_count_all(tmp_path):
    body = "for size in range(1, 6): compile(size)\ncompile(100 + int(os.environ['NUMBER']))"
    running = []
    for number in range(8):
        os.environ["NUMBER"] = str(number)
        running.append(start(tmp_path / "corpus", body))
    assert [finish(process)[0] for process in running] == [0] * 8
    assert sizes(tmp_path / "corpus") == [*range(1, 6), *range(100, 108)]
    with open_reader(tmp_path / "corpus") as reader:
        counts = sorted(item.record.provenance.occurrences for item in reader)
    assert counts == [1] * 8 + [8] * 5


def test_a_file_that_may_not_grow_costs_records_and_not_the_result(tmp_path):
    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    body = "for size in range(1, 300): compile(size)\nprint('result')"
    code, out, err = finish(start(tmp_path / "corpus", body, preexec_fn=no_room))
    assert (code, out) == (3, "result\n")
    assert err.startswith("replay: warning: ")
    assert err.count("\n") == 1
    kept = sizes(tmp_path / "corpus")
    with open_reader(tmp_path / "corpus", allow_empty=True) as reader:
        assert f"{reader.lost} records lost" in err
        assert reader.lost >= 299 - len(kept) > 0


def test_a_corpus_that_is_locked_for_a_while_is_waited_for(tmp_path):
    finish(start(tmp_path / "corpus", "compile(1)"))
    with (tmp_path / "corpus" / "cache.db").open("r+b") as file:
        pending, shared = 0x40000000, 0x40000002
        fcntl.lockf(file, fcntl.LOCK_EX, 1, pending)
        fcntl.lockf(file, fcntl.LOCK_EX, 510, shared)
        process = start(tmp_path / "corpus", "compile(2); compile(3)")
        time.sleep(1.5)
    code, _, err = finish(process)
    assert (code, "lost" in err) == (0, False)
    assert sizes(tmp_path / "corpus") == [1, 2, 3]


@pytest.mark.skipif(os.geteuid() != 0, reason="giving up rights needs root")
def test_a_corpus_that_is_read_only_costs_one_warning_and_not_the_result():
    place = Path(tempfile.mkdtemp(dir="/var/tmp"))
    program = f"""
import os, sys
import replay.commands.capture, replay.front
from replay.cli import main
os.setuid(65534)
sys.exit(main(["capture", "--corpus", {str(place / "corpus")!r}, "--", "/bin/echo", "result"]))
"""
    try:
        finish(start(place / "corpus", "compile(1)"))
        place.chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "result\n", 1)
        assert "cannot be written" in done.stderr
        assert sizes(place / "corpus") == [1]
    finally:
        shutil.rmtree(place)


def test_a_program_goes_on_alone_when_the_capturing_process_is_killed(tmp_path):
    body = "compile(1); print('one', flush=True); sys.stdin.readline(); compile(2); print('two')"
    process = start(tmp_path / "corpus", body, stdin=subprocess.PIPE, start_new_session=True)
    assert process.stdout.readline() == "one\n"
    process.kill()
    process.wait()
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.read() == "two\n"
    assert sizes(tmp_path / "corpus") == [1, 2]


def test_a_process_that_outlives_the_program_records_to_its_end(tmp_path):
    done = tmp_path / "done"
    body = (
        "compile(1)\nif os.fork() == 0:\n"
        "    os.setsid(); os.close(1); os.close(2); compile(2)\n"
        f"    time.sleep(1); compile(3); open({str(done)!r}, 'w').close(); os._exit(0)\n"
        "time.sleep(0.3)"
    )
    assert finish(start(tmp_path / "corpus", body))[0] == 0
    deadline_s = time.monotonic() + 60
    while not done.exists():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    assert sizes(tmp_path / "corpus") == [1, 2, 3]


OWN_FILES = (
    "def own(names):\n"
    "    os.closerange(3, 100)\n"
    "    return [os.open(name, os.O_CREAT | os.O_RDWR) for name in names]\n"
    "def write(mine): [os.write(descriptor, b'mine') for descriptor in mine]\n"
)


def closing_program(place, *lines):
    """A program that closes all descriptors and opens files of its own under their numbers."""
    return "\n".join([OWN_FILES, f"os.chdir({str(place)!r})", *lines])


def own_files(place):
    return {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}


@pytest.fixture
def place(tmp_path):
    made = tmp_path / "own"
    made.mkdir()
    return made


def test_a_program_that_closes_our_descriptor_keeps_what_it_opens_then(tmp_path, place):
    lines = ("mine = own('abcdefgh'); compile(2); write(mine)", "mine = own('ij'); compile(3)")
    body = closing_program(place, "compile(1)", *lines, "write(mine)")
    code, out, err = finish(start(tmp_path / "corpus", body))
    assert (code, out, err.count("\n")) == (0, "", 1)
    assert "3 new records" in err
    assert own_files(place) == dict.fromkeys("abcdefghij", b"mine")
    assert sizes(tmp_path / "corpus") == [1, 2, 3]


def test_a_child_closes_no_file_that_the_program_opened_under_our_number(tmp_path, place):
    lines = ("mine = own('abcdefgh')", "if os.fork(): os.wait()", "else: write(mine); compile(2)")
    assert finish(start(tmp_path / "corpus", closing_program(place, "compile(1)", *lines)))[0] == 0
    assert own_files(place) == dict.fromkeys("abcdefgh", b"mine")
    assert sizes(tmp_path / "corpus") == [1, 2]


def test_a_process_without_a_capturing_one_keeps_what_it_opens_between_kernels(tmp_path, place):
    lines = (
        "sys.stdin.readline(); compile(1)",
        "mine = own('abcdefgh'); compile(2); write(mine); compile(3)",
    )
    process = start(
        tmp_path / "corpus",
        closing_program(place, "print('one', flush=True)", *lines, "print('end', flush=True)"),
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout.readline() == "one\n"
    process.kill()
    process.wait()
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.read() == "end\n"
    assert own_files(place) == dict.fromkeys("abcdefgh", b"mine")
    assert sizes(tmp_path / "corpus") == [1, 2, 3]


def test_a_program_may_empty_its_environment_before_its_first_kernel(tmp_path):
    assert finish(start(tmp_path / "corpus", "os.environ.clear(); compile(1)"))[0] == 0
    assert sizes(tmp_path / "corpus") == [1]


def test_kernels_of_a_killed_group_of_processes_are_there_once_printed(tmp_path):
    body = "for size in range(1, 1000):\n    compile(size); print(size, flush=True)"
    process = start(tmp_path / "corpus", body, start_new_session=True)
    printed = [int(process.stdout.readline()) for _ in range(20)]
    os.killpg(process.pid, signal.SIGKILL)
    printed += [int(line) for line in process.stdout.read().split("\n")[:-1]]
    process.wait()
    assert set(printed) <= set(sizes(tmp_path / "corpus"))


def test_a_kernel_that_the_program_keeps_is_counted_each_time_it_runs(tmp_path):
    body = (
        "import numpy as np\nfrom compiler import Tensor\n"
        "for _ in range(5): (Tensor(np.ones(7, np.float32)) + 1).realize()\n"
        "if os.fork() == 0:\n"
        "    (Tensor(np.ones(7, np.float32)) + 1).realize()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\nos.wait()"
    )
    assert finish(start(tmp_path / "corpus", body))[0] == 0
    with open_reader(tmp_path / "corpus") as reader:
        assert [item.record.provenance.occurrences for item in reader] == [6]


def test_the_log_is_gone_when_the_program_has_ended(tmp_path):
    finish(start(tmp_path / "corpus", "compile(1); os.kill(os.getpid(), signal.SIGKILL)"))
    assert sorted(path.name for path in (tmp_path / "corpus").iterdir()) == [
        "cache.db",
        "corpus.state",
    ]


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_capture_with_closed_streams_does_its_work(tmp_path, closed):
    body = PROGRAM + "compile(1); sys.exit(7)"
    words = [*REPLAY, "capture", "--corpus", str(tmp_path / "c"), "--", sys.executable, "-c", body]
    shell = f"{shlex.join(words)} {closed}"
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", shell], env=environ, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (7, b"")
    assert sizes(tmp_path / "c") == [1]


@pytest.mark.parametrize("name", ["kernels.txt", "kernels.krc", "notes"])
def test_what_can_only_be_a_file_is_refused_before_the_program_runs(tmp_path, name):
    (tmp_path / "notes").write_text("mine")
    code, out, err = finish(start(tmp_path / name, "print('ran')"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"`replay corpus export {tmp_path / name} --corpus DIR`" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes"]


def test_a_directory_may_be_called_what_it_likes(tmp_path):
    (tmp_path / "kernels.txt").mkdir()
    assert finish(start(tmp_path / "kernels.txt", "compile(1)"))[0] == 0
    assert sizes(tmp_path / "kernels.txt") == [1]


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--fail-empty",), 3)])
def test_a_program_that_capture_cannot_reach_is_pointed_to_the_doctor(tmp_path, options, code):
    finish(start(tmp_path / "corpus", "compile(1)"))
    place = ("--corpus", tmp_path / "corpus", *options)
    words = [*REPLAY, "capture", *place, "--", sys.executable, "-I", "-c"]
    done = subprocess.run(
        [*map(str, words), f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{PROGRAM}compile(2)"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert "no kernel was captured" in done.stderr
    assert "replay doctor" in done.stderr


def test_a_call_site_is_told_without_the_machine(tmp_path):
    repository = tmp_path / "home" / "work"
    (repository / ".git").mkdir(parents=True)
    (repository / "lib").mkdir()
    (repository / "lib" / "model.py").write_text(f"{PROGRAM}\ndef forward():\n    compile(4)\n")
    (tmp_path / "main.py").write_text("import model; model.forward()")
    subprocess.run(
        [*REPLAY, "capture", "--corpus", str(tmp_path / "c"), sys.executable, tmp_path / "main.py"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(repository / "lib")))},
        cwd=repository,
        check=True,
        capture_output=True,
    )
    with open_reader(tmp_path / "c") as reader:
        (item,) = reader
    assert item.record.provenance.call_site.startswith("lib/model.py:")
    assert item.record.provenance.tensor_op == "compile_kernel"


def test_a_kernel_that_was_built_before_anybody_listened_is_recorded_when_it_is_used(tmp_path):
    def run():
        (Tensor(np.ones(23, np.float32)) + 5).realize()

    run()
    with observing(Observer([Link(Capture(str(tmp_path), str(tmp_path / "corpus")))], {})):
        run()
        run()
    assert sizes(tmp_path / "corpus") == [23]
    with open_reader(tmp_path / "corpus") as reader:
        assert [item.record.provenance.occurrences for item in reader] == [2]


def test_answers_that_nobody_confirmed_are_written_by_the_program_itself(tmp_path):
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "socket"))
    server.listen()

    def hear_and_die():
        connection, _ = server.accept()
        heard = b""
        while AWAITED not in heard:
            heard += connection.recv(1 << 16)
        connection.close()

    other = threading.Thread(target=hear_and_die)
    other.start()
    with observing(Observer([Link(Capture(str(tmp_path), str(tmp_path / "c")))], {})):
        (Tensor(np.ones(29, np.float32)) + 7).realize()
        assert sizes(tmp_path / "c") == [29]
    other.join()
    server.close()
    with open_reader(tmp_path / "c") as reader:
        assert [item.record.status for item in reader] == [Status.FINISHED]


def late(*_):
    raise TimeoutError("late")


def sender(line):
    """What stands for the encoder of messages, in a module of ours."""
    module = {"__name__": "replay.capture.link", "signal": signal}
    exec(f"def encode(message): {line}", module)
    return module["encode"]


@pytest.fixture
def interrupted():
    """A signal whose handler raises, as that of a time limit does."""
    before = signal.signal(signal.SIGUSR1, late)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("signal.raise_signal(signal.SIGUSR1)", pytest.raises(TimeoutError, match="late")),
        ("raise OSError", nullcontext()),
    ],
)
def test_an_error_of_a_handler_is_the_programs_and_one_of_ours_is_not(
    tmp_path, monkeypatch, line, expected
):
    observer = Observer([Link(Capture(str(tmp_path), str(tmp_path / "c")))], {})
    with socket.socket(socket.AF_UNIX) as server, monkeypatch.context() as patched:
        server.bind(str(tmp_path / "socket"))
        server.listen()
        patched.setattr("replay.capture.link.encode", sender(line))
        with observing(observer), expected:
            (Tensor(np.ones(41, np.float32)) + 2).realize()
    with observing(observer):
        (Tensor(np.ones(43, np.float32)) + 2).realize()
    assert sizes(tmp_path / "c") == ([43] if "signal" in line else [41, 43])


def test_a_time_limit_may_be_up_while_the_observer_is_imported(tmp_path):
    body = (
        "def late(*_): raise TimeoutError\n"
        "signal.signal(signal.SIGUSR1, late)\n"
        "class Finder:\n"
        "    def find_spec(name, *_):\n"
        "        if name == 'replay.capture.observer':\n"
        "            sys.meta_path.remove(Finder); signal.raise_signal(signal.SIGUSR1)\n"
        "sys.meta_path.insert(0, Finder)\n"
        "try: compile(1)\n"
        "except TimeoutError: print('mine')\n"
        "compile(2)"
    )
    code, out, _ = finish(start(tmp_path / "corpus", body))
    assert (code, out) == (0, "mine\n")
    assert sizes(tmp_path / "corpus") == [2]


@pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="Linux alone has it")
def test_a_capture_stands_back_until_its_program_has_ended(tmp_path):
    def how():
        return os.sched_getscheduler(os.getpid())

    before = how()
    program = Program(("true",), str(tmp_path / "corpus"), os.environ)
    try:
        assert how() == os.SCHED_BATCH
        assert program.wait() == 0
        assert how() == before
    finally:
        program.discard()


def test_a_request_waits_for_its_kernels_once(tmp_path):
    seen = []

    class Watching(Observer):
        def __call__(self, event):
            seen.append(type(event).__name__)
            super().__call__(event)

        def end_batch(self):
            super().end_batch()
            seen.append(len(sizes(tmp_path / "c")))

    first = Tensor(np.ones((31, 37), np.float32)).sum(axis=1)
    with observing(Watching([Link(Capture(str(tmp_path), str(tmp_path / "c")))], {})):
        (Tensor(np.ones((5, 31), np.float32)) @ (first * 2).contiguous()).realize()
    assert seen[-1] == seen.count("CompileFinished")
    assert [each for each in seen if isinstance(each, int)] == seen[-1:]


def test_every_record_that_a_place_which_is_none_has_cost_is_counted(tmp_path):
    (tmp_path / "file").write_text("")
    code, out, err = finish(start(tmp_path / "file" / "c", "[compile(n) for n in (1, 2, 3)]"))
    assert (code, out) == (3, "")
    assert err.startswith("replay: warning: 3 records lost: ")
