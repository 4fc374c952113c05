"""`replay capture`, on real programs in processes of their own."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from programs import DIFFERENCE, make_corpus, record_of

from corpus import Status, Stored, open_reader

ROOT = Path(__file__).parents[2]
REPLAY = (sys.executable, "-m", "replay.cli")
PRELUDE = f"""
from compiler import compile_kernel, find_target, parse_node
TEXT = '''{DIFFERENCE}'''
def compile(size, backend="llvm"):
    return compile_kernel(parse_node(TEXT.format(size=size)), find_target(backend))
"""


def capture(tmp_path, program, *, corpus=None, env=None, cwd=None, python=(sys.executable,)):
    script = tmp_path / "program.py"
    script.write_text(PRELUDE + textwrap.dedent(program))
    corpus = corpus or tmp_path / "corpus"
    command = (*REPLAY, "capture", "--corpus", corpus, "--", *python, script)
    return subprocess.run(
        [str(word) for word in command],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        cwd=cwd or tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def records(corpus):
    with open_reader(corpus) as reader:
        items = list(reader)
    assert all(isinstance(item, Stored) for item in items)
    return [item.record for item in items]


def test_every_kernel_of_a_program_is_recorded_and_its_exit_code_kept(tmp_path):
    done = capture(tmp_path, "compile(4); compile(5, 'opencl'); import sys; sys.exit(7)")
    assert done.returncode == 7
    assert sorted(record.target.backend for record in records(tmp_path / "corpus")) == [
        "llvm",
        "opencl",
    ]


def test_a_repeated_compile_counts_and_adds_no_record(tmp_path):
    capture(tmp_path, "for _ in range(3): compile(4)")
    capture(tmp_path, "compile(4)")
    (record,) = records(tmp_path / "corpus")
    assert record.provenance.occurrences == 4


def test_a_record_says_where_it_comes_from(tmp_path):
    capture(tmp_path, "def f():\n    compile(4)\nf()")
    (record,) = records(tmp_path / "corpus")
    origin = record.provenance
    assert origin.call_site == "program.py:14 compile"
    assert origin.captured_at.startswith("20")
    assert origin.toolchain["llvmlite"]


def test_the_corpus_is_at_rest_while_its_program_ends_and_opened_again_for_more(tmp_path):
    program = """
        import atexit, os, time
        log, deadline = "corpus/cache.db-wal", time.monotonic() + 60
        @atexit.register  # before the observer does: so it comes after it
        def look():
            while os.path.exists(log) and time.monotonic() < deadline:
                time.sleep(0.01)
            print(os.path.exists(log))
            compile(5)
        compile(4)
        """
    done = capture(tmp_path, program)
    assert (done.returncode, done.stdout) == (0, "False\n")
    assert "2 new records, 2 in" in done.stderr
    assert len(records(tmp_path / "corpus")) == 2
    assert not (tmp_path / "corpus" / "cache.db-wal").exists()


@pytest.mark.parametrize(
    "program",
    [
        "import threading; t = threading.Thread(target=compile, args=(4,)); t.start(); t.join()",
        "import os\nif os.fork() == 0:\n    compile(4)\n    os._exit(0)\nos.wait()",
        "compile(5)\nimport os\nif os.fork() == 0:\n    compile(4)\n    os._exit(0)\nos.wait()",
        "import os\ncompile(4)\nos._exit(0)",
        "import os, signal\ncompile(4)\nos.kill(os.getpid(), signal.SIGKILL)",
        "compile(4)\nraise RuntimeError",
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', open(__file__).read().split('import sub')[0]"
        " + 'compile(4)'])",
        "import multiprocessing\nif __name__ == '__main__':\n"
        "    p = multiprocessing.get_context('spawn').Process(target=compile, args=(4,))\n"
        "    p.start(); p.join()",
    ],
    ids=["thread", "fork", "fork later", "_exit", "SIGKILL", "exception", "subprocess", "spawn"],
)
def test_kernels_are_recorded_however_the_process_lives_and_ends(tmp_path, program):
    capture(tmp_path, program)
    found = [record for record in records(tmp_path / "corpus") if "size=4" in record.ast]
    assert [record.status for record in found] == [Status.FINISHED]


def test_a_signal_becomes_128_and_its_number(tmp_path):
    done = capture(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    assert done.returncode == 128 + signal.SIGTERM


def test_a_compile_that_kills_the_process_leaves_its_question(tmp_path):
    program = "from compiler import observing\nimport os\nwith observing(lambda e: os.abort()):\n"
    done = capture(tmp_path, program + "    compile(4)")
    assert done.returncode == 128 + signal.SIGABRT
    (record,) = records(tmp_path / "corpus")
    assert record.status is Status.STARTED


def test_a_compile_that_fails_leaves_its_error(tmp_path):
    program = "from compiler.kernel import Upcast\nfrom compiler import CompilerError\ntry:\n"
    program += "    compile_kernel(parse_node(TEXT.format(size=4)), find_target('llvm'),"
    program += " opts=(Upcast('nope', 2),))\nexcept CompilerError: pass"
    capture(tmp_path, program)
    (record,) = records(tmp_path / "corpus")
    assert record.status is Status.FAILED
    assert "nope" in record.error


def test_another_sitecustomize_still_runs(tmp_path):
    other = tmp_path / "site"
    other.mkdir()
    (other / "sitecustomize.py").write_text("print('I ran too')")
    path = os.pathsep.join((str(other), str(ROOT)))
    done = capture(tmp_path, "compile(4)", env={"PYTHONPATH": path})
    assert "I ran too" in done.stdout
    assert len(records(tmp_path / "corpus")) == 1


IMPORT_HOOK = """
import sys
from importlib.machinery import PathFinder

class First:
    def find_spec(self, name, path, target=None):
        return PathFinder.find_spec(name, path) if name.startswith("compiler.") else None

sys.meta_path.insert(0, First())
"""


def test_an_import_hook_of_the_program_does_not_hide_its_kernels(tmp_path):
    hooked = tmp_path / "hooked.py"
    hooked.write_text(IMPORT_HOOK + PRELUDE + "compile(4)")
    done = capture(tmp_path, "", python=(sys.executable, hooked))
    assert done.returncode == 0, done.stderr
    assert len(records(tmp_path / "corpus")) == 1


def test_a_nested_capture_records_in_both_corpora(tmp_path):
    inner = tmp_path / "inner"
    command = (*REPLAY, "capture", "--corpus", inner, "--", sys.executable, "-c", "compile(4)")
    words = [str(word) for word in command]
    program = f"words = {words!r}\nwords[-1] = {PRELUDE!r} + words[-1]\n"
    capture(tmp_path, program + "import subprocess\nsubprocess.run(words, check=True)")
    assert len(records(inner)) == len(records(tmp_path / "corpus")) == 1


PLACES = {
    "a path below a file": lambda tmp: tmp / "program.py" / "corpus",
    "a directory of something else": lambda tmp: tmp / "foreign",
    "a place that nobody can write": lambda tmp: Path("/proc/corpus"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_corpus_that_cannot_be_written_costs_one_warning_and_not_the_result(tmp_path, place):
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "data").touch()
    (tmp_path / "program.py").touch()
    corpus = PLACES[place](tmp_path)
    done = capture(tmp_path, "compile(4); print('result')", corpus=corpus)
    assert done.returncode == 3
    assert done.stdout == "result\n"
    assert done.stderr.count("\n") == 1
    assert str(corpus) in done.stderr


def test_a_corpus_in_a_directory_called_corpus_is_not_taken_for_a_package(tmp_path):
    done = capture(tmp_path, "compile(4)", env={"PYTHONPATH": ""})
    assert (done.returncode, "lost" in done.stderr) == (0, False)
    assert len(records(tmp_path / "corpus")) == 1


def test_a_record_that_was_lost_marks_the_corpus_incomplete(tmp_path):
    sabotage = "import replay.capture.observer as o\no.plain_question = None\ncompile(5)"
    done = capture(tmp_path, f"compile(4)\n{sabotage}")
    assert done.returncode == 3
    assert "1 record lost: TypeError" in done.stderr
    with open_reader(tmp_path / "corpus") as reader:
        assert reader.lost == 1


def test_without_a_home_capture_works(tmp_path):
    environ = {name: value for name, value in os.environ.items() if name != "HOME"}
    script = tmp_path / "program.py"
    script.write_text(PRELUDE + "compile(4)")
    command = (*REPLAY, "capture", "--corpus", tmp_path / "c", "--", sys.executable, script)
    done = subprocess.run(
        [str(word) for word in command], env={**environ, "PYTHONPATH": str(ROOT)}, check=False
    )
    assert done.returncode == 0
    assert len(records(tmp_path / "c")) == 1


def test_a_program_that_cannot_be_started_is_a_usage_error(tmp_path):
    command = (*REPLAY, "capture", "--corpus", tmp_path / "c", "--", tmp_path / "nothing")
    done = subprocess.run(
        [str(word) for word in command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def shown(corpus):
    """All that `show --json` prints of each record, less its provenance."""
    found = []
    for key in sorted(keys(corpus)):
        done = subprocess.run(
            [*REPLAY, "show", key, "--corpus", str(corpus), "--json"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        document = json.loads(done.stdout)
        del document["provenance"]
        found.append(json.dumps(document))
    return found


def keys(corpus):
    with open_reader(corpus) as reader:
        return list(reader.keys())


def test_records_are_equal_whatever_the_hash_seed_directory_home_locale_and_history(tmp_path):
    program = "for size in (4, 5):\n    compile(size); compile(size, 'opencl')"
    before = "for size in range(20, 70): compile(size)\n"
    capture(tmp_path, program, corpus=tmp_path / "plain", env={"PYTHONHASHSEED": "0"})
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    env = {"PYTHONHASHSEED": "4", "HOME": str(elsewhere), "LC_ALL": "C", "TZ": "Asia/Tokyo"}
    capture(elsewhere, before + program, corpus=tmp_path / "other", env=env, cwd=elsewhere)
    wanted = keys(tmp_path / "plain")
    assert len(wanted) == 4
    with open_reader(tmp_path / "other") as reader:
        other = [reader.read(key).record for key in wanted]
    trimmed = make_corpus(tmp_path / "trimmed", other)
    assert shown(trimmed) == shown(tmp_path / "plain")


def test_the_key_of_a_record_is_that_of_its_question(tmp_path):
    capture(tmp_path, "compile(4)")
    assert keys(tmp_path / "corpus") == keys(
        make_corpus(tmp_path / "direct", [record_of(DIFFERENCE.format(size=4))])
    )


def test_kernels_of_a_recorded_program_are_captured_as_without_recording(tmp_path):
    program = """
        from compiler import Tensor, jit
        def function(x): return (x * 3).contiguous().sum()
        function = {wrapped}(function)
        for i in range(3): function(Tensor([1.0 + i, 2.0], device="llvm")).numpy()
    """
    keys = []
    for wrapped in ("jit", ""):
        corpus = tmp_path / f"of {wrapped}"
        done = capture(tmp_path, program.format(wrapped=wrapped), corpus=corpus)
        assert done.returncode == 0, done.stderr
        keys.append(sorted((record.ast, record.target.backend) for record in records(corpus)))
    assert keys[0] == keys[1]
    assert len(keys[0]) == 2
