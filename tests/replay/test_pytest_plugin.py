"""`pytest --replay-corpus`: other people's tests under capture, and red where a kernel changed."""

import os
import sqlite3
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest
from programs import DIFFERENCE, ROW_SUMS, keys_of, record_of

from corpus import Stored, open_reader, open_writer
from replay import pytest_session  # imported here, so that pytester's runs find it in this process
from replay.capture.environment import VARIABLE
from replay.pytest_baseline import Scope

ROOT = Path(__file__).parents[2]
# The plugin, without others that would make each run slow to start.
PLUGIN = ("-p", "replay.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
pytest_plugins = ("pytester",)

TESTS = f"""
import pytest
from compiler import compile_kernel, find_target, parse_node

def compiled(text):  # as the frontend does; it would not compile the same kernel twice
    return compile_kernel(parse_node(text), find_target("llvm")).program.source

@pytest.mark.parametrize("size", [8, 16])
def test_sum(size):
    assert "fadd" in compiled({ROW_SUMS!r}.format(rows=1, columns=size, all=size))

def test_scale():
    assert "fsub" in compiled({DIFFERENCE!r}.format(size=4))
"""
OTHER = TESTS.replace("size=4", "size=5")
IDS = ["test_k.py::test_scale", "test_k.py::test_sum[16]", "test_k.py::test_sum[8]"]


@pytest.fixture(scope="module", autouse=True)
def _everything_is_imported():
    """pytester forgets what its runs import; compiled modules cannot be imported twice."""
    assert pytest_session.NAME
    record_of(DIFFERENCE.format(size=4))


@pytest.fixture
def project(pytester):
    pytester.makepyfile(test_k=TESTS)
    return pytester


def run(project, *options):
    """One run of pytest in this process, with the plugin."""
    return project.runpytest_inprocess(*PLUGIN, "-p", "no:xdist", *options)


def captured(project, name="kernels"):
    assert run(project, "--replay-corpus", name).ret == 0
    return project.path / name


def records(corpus):
    with open_reader(corpus) as reader:
        return [item.record for item in reader if isinstance(item, Stored)]


def change_the_source_of_one(corpus, test):
    (record,) = [each for each in records(corpus) if each.provenance.test_id == test]
    other = record.source.replace("  ", "   ", 1)
    with open_writer(corpus) as writer:
        writer.replace(msgspec.structs.replace(record, source=other))


def contents(path):
    return {each.name: each.read_bytes() for each in path.iterdir()}


# --- nothing, unless it is asked for ---


def test_the_plugin_is_declared_under_the_name_of_its_module():
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    plugins = document["project"]["entry-points"]["pytest11"]
    assert plugins == {"replay.pytest_plugin": "replay.pytest_plugin"}


def test_a_run_that_does_not_ask_imports_nothing_of_ours_but_the_plugin(project):
    project.makepyfile(
        test_k="import sys\ndef test_it():\n"
        "    ours = sorted(n for n in sys.modules if n.split('.')[0] in OURS)\n"
        "    assert ours == ['replay', 'replay.pytest_plugin']\n"
        "OURS = {'replay', 'corpus', 'compiler', 'msgspec', 'numpy', 'click', 'rich'}\n"
    )
    command = (sys.executable, "-m", "pytest", *PLUGIN)
    done = subprocess.run(command, cwd=project.path, env=environment(), check=False)
    assert done.returncode == 0


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        (("--replay-check",), "need --replay-corpus"),
        (("--replay-corpus", "k", "--replay-check", "--replay-update"), "exclude each other"),
        (
            ("--replay-corpus", "k", "--replay-check"),
            "k: does not exist; make it with --replay",
        ),
        (("--replay-corpus", "test_k.py"), "a file; records go into a directory"),
        (("--replay-corpus", "s3://b/k"), "s3://b/k: an object store"),
    ],
)
def test_options_that_cannot_be_meant_are_refused_before_any_test_runs(project, options, fact):
    done = run(project, *options)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert fact in done.stderr.str()


# --- capture ---


def test_every_kernel_is_recorded_with_the_test_that_compiled_it(project):
    found = records(captured(project))
    assert sorted(record.provenance.test_id for record in found) == IDS


def test_after_the_run_nothing_is_captured_any_more(project):
    before = dict(os.environ)
    corpus = captured(project)
    record_of(DIFFERENCE.format(size=77))
    assert len(keys_of(corpus)) == 3
    assert os.environ.get("PYTHONPATH") == before.get("PYTHONPATH")
    assert VARIABLE not in os.environ


def test_workers_of_xdist_record_and_check_as_one_process_does(project):
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    alone = captured(project, "alone")
    command = (sys.executable, "-m", "pytest", *PLUGIN, "-n", "2", "--replay-corpus")
    for words in (("both",), ("alone", "--replay-check")):
        done = subprocess.run((*command, *words), cwd=project.path, env=environment(), check=False)
        assert done.returncode == 0
    assert keys_of(project.path / "both") == keys_of(alone)
    assert sorted(r.provenance.test_id for r in records(project.path / "both")) == IDS
    assert all(record.provenance.occurrences == 1 for record in records(project.path / "both"))


# --- check ---


def test_the_same_kernels_pass_and_the_baseline_is_left_alone(project):
    corpus = captured(project)
    before = contents(corpus)
    done = run(project, "--replay-corpus", corpus, "--replay-check")
    assert done.ret == 0
    done.stdout.fnmatch_lines(["*3 same = 3 records*", "gate passed*"])
    assert contents(corpus) == before


def test_a_changed_kernel_makes_the_run_red_and_names_its_test(project):
    corpus = captured(project)
    change_the_source_of_one(corpus, "test_k.py::test_scale")
    done = run(project, "--replay-corpus", corpus, "--replay-check")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    assert done.parseoutcomes()["passed"] == 3
    done.stdout.fnmatch_lines(["  code * test_k.py::test_scale", "gate failed: 1 record is code"])


def test_a_policy_beside_the_tests_can_let_it_pass(project):
    corpus = captured(project)
    change_the_source_of_one(corpus, "test_k.py::test_scale")
    project.makepyprojecttoml('[tool.replay]\nallow = ["same", "code"]')
    assert run(project, "--replay-corpus", corpus, "--replay-check").ret == 0


def test_a_policy_that_cannot_be_read_is_no_pass(project):
    corpus = captured(project)
    project.makepyprojecttoml('[tool.replay]\nallow = ["samy"]')
    done = run(project, "--replay-corpus", corpus, "--replay-check")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["*tool.replay.allow?0?: 'samy' is no outcome*"])


def test_a_kernel_that_is_gone_and_one_that_is_new_are_no_pass(project):
    corpus = captured(project)
    project.makepyfile(test_k=OTHER)
    done = run(project, "--replay-corpus", corpus, "--replay-check")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["*2 same * 1 new * 1 missing = 4 records*"])


def test_a_test_that_is_gone_leaves_its_kernels_missing(project):
    corpus = captured(project)
    project.makepyfile(test_k=TESTS.replace("def test_scale", "def scale"))
    done = run(project, "--replay-corpus", corpus, "--replay-check")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["*2 same * 1 missing = 3 records*"])


def test_a_choice_of_tests_is_judged_by_their_kernels_alone(project):
    corpus = captured(project)
    done = run(project, "--replay-corpus", corpus, "--replay-check", "-k", "sum")
    assert done.ret == 0
    done.stdout.fnmatch_lines(["*2 records (of 3), none changed*"])


def test_a_skipped_test_leaves_its_kernels_unchecked_which_is_no_pass(project):
    corpus = captured(project)
    project.makepyfile(test_k=TESTS.replace("def test_scale", "@pytest.mark.skip\ndef test_scale"))
    done = run(project, "--replay-corpus", corpus, "--replay-check")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["*2 same * 1 skipped = 3 records*"])


def test_a_run_that_compiles_nothing_is_no_pass(project):
    corpus = captured(project)
    project.makepyfile(test_k="def test_nothing():\n    pass")
    done = run(project, "--replay-corpus", corpus, "--replay-check", "-k", "nothing")
    assert done.ret == pytest.ExitCode.TESTS_FAILED


def test_a_damaged_baseline_is_no_pass(project):
    corpus = captured(project)
    with sqlite3.connect(corpus / "cache.db") as database:
        database.execute("UPDATE Cache SET value = zeroblob(50) WHERE key = ?", keys_of(corpus)[:1])
    database.close()
    done = run(project, "--replay-corpus", corpus, "--replay-check")
    assert done.ret == pytest.ExitCode.TESTS_FAILED


# --- update ---


def test_an_update_renews_what_differs_and_the_check_is_green_again(project):
    corpus = captured(project)
    change_the_source_of_one(corpus, "test_k.py::test_scale")
    done = run(project, "--replay-corpus", corpus, "--replay-update")
    assert done.ret == 0
    done.stdout.fnmatch_lines(["*0 new, 1 changed, 0 gone, 2 as before"])
    assert run(project, "--replay-corpus", corpus, "--replay-check").ret == 0


def test_a_baseline_in_text_form_changes_by_the_lines_that_changed(project):
    text = project.path / "kernels.txt"
    assert run(project, "--replay-corpus", text, "--replay-update").ret == 0
    before = text.read_text()
    assert run(project, "--replay-corpus", text, "--replay-update").ret == 0
    assert text.read_text() == before
    project.makepyfile(test_k=TESTS.replace("[8, 16]", "[8]"))
    assert run(project, "--replay-corpus", text, "--replay-update").ret == 0
    left = text.read_text()
    assert (before.count("\nrecord "), left.count("\nrecord ")) == (3, 2)
    assert set(left.splitlines()) <= set(before.splitlines())


def test_a_text_baseline_names_no_place_and_no_time(project):
    text = project.path / "kernels.txt"
    assert run(project, "--replay-corpus", text, "--replay-update").ret == 0
    assert str(project.path) not in text.read_text()
    assert "captured_at" not in text.read_text()


def test_failing_tests_renew_nothing(project):
    corpus = captured(project)
    before = contents(corpus)
    project.makepyfile(test_k=TESTS.replace("fsub", "fmul"))
    done = run(project, "--replay-corpus", corpus, "--replay-update")
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["no baseline is renewed: not every test passed"])
    assert contents(corpus) == before


def test_a_choice_of_tests_renews_no_other_kernels(project):
    corpus = captured(project)
    done = run(project, "--replay-corpus", corpus, "--replay-update", "-k", "sum")
    assert done.ret == 0
    assert len(keys_of(corpus)) == 3


# --- which tests a run is about ---


@pytest.mark.parametrize(
    ("place", "test", "is_in"),
    [
        ("", "tests/test_a.py::test_x", True),
        ("tests", "tests/test_a.py::test_x", True),
        ("tests", "tests_other/test_a.py::test_x", False),
        ("tests/test_a.py", "tests/test_a.py::test_x", True),
        ("tests/test_a.py::test_x", "tests/test_a.py::test_x[1]", True),
        ("tests/test_a.py::test_x", "tests/test_a.py::test_xy", False),
        ("tests", None, False),
    ],
)
def test_a_test_is_in_the_places_that_the_command_line_names(place, test, is_in):
    scope = Scope(ran=frozenset(), skipped=frozenset(), places=(place,), is_narrowed=False)
    assert scope.has(test) is is_in
