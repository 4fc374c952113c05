"""The GitHub action and the GitLab template: valid, alike, and their script does what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from corpus import open_reader
from replay.cli import COMMANDS
from replay.patched import Patch, copy_compiler

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "ci/github/action.yml").read_text(encoding="utf-8"))
TEMPLATE = yaml.safe_load((ROOT / "ci/gitlab/replay.yml").read_text(encoding="utf-8"))
(STEP,) = [step for step in ACTION["runs"]["steps"] if "REPLAY_BASE" in step.get("env", {})]
SCRIPT = STEP["run"]
DEFAULT_BASE = "inputs.base || github.event.repository.default_branch"
PROGRAM = """
from compiler import compile_kernel, find_target, parse_node
AST = '''ir 1
%0 = BUFFER float32 slot=0 size=4
%1 = BUFFER float32 slot=1 size=4
%2 = LOAD float32 %1 view=[(4):(1)]
%3 = BUFFER float32 slot=2 size=4
%4 = LOAD float32 %3 view=[(4):(1)]
%5 = SUB float32 %2 %4
%6 = STORE void %0 %5 view=[(4):(1)]
%7 = SINK void %6 axes=(g0:4)
'''
compile_kernel(parse_node(AST), find_target("llvm"))
"""
RENDER = "source = backend.render(program, name, arguments, target)"
SPACES = Patch("compiler/compile.py", RENDER, f"{RENDER}.replace(' = fsub', '  = fsub')")
SWAPS = Patch(
    "compiler/compile.py",
    RENDER,
    f"{RENDER}\n    source = re.sub(r'(fsub .*) (%\\w+), (%\\w+)', r'\\1 \\3, \\2', source)",
)


# --- the files ---


def test_the_action_is_a_composite_one_whose_steps_all_do_something():
    assert ACTION["runs"]["using"] == "composite"
    for step in ACTION["runs"]["steps"]:
        assert ("uses" in step) != ("run" in step)
        assert "run" not in step or step["shell"] == "bash"
    assert set(re.findall(r"inputs\.(\w+)", str(STEP["env"]))) == set(ACTION["inputs"])


def test_action_and_template_run_the_same_script():
    assert TEMPLATE["replay"]["script"] == [SCRIPT]


@pytest.mark.parametrize("rule", range(2))
def test_all_that_the_script_reads_is_set_in_both(rule):
    read = set(re.findall(r"\$(REPLAY_\w+)", SCRIPT))
    assert read == set(STEP["env"])
    job = TEMPLATE["replay"]
    given = {**job["variables"], **job["rules"][rule]["variables"]}
    assert read | {"REPLAY_CACHE"} == set(given)


def test_the_script_uses_public_commands_only():
    used = set(re.findall(r"^ *replay (\w+)", SCRIPT, re.MULTILINE))
    assert used == {"capture", "corpus", "run"}
    assert used <= {name for name, _, _ in COMMANDS}


def test_a_branch_that_is_pushed_is_compared_with_the_default_branch_and_not_with_itself():
    """`github.ref_name` is the branch itself: every kernel was the same, whatever had changed."""
    base = STEP["env"]["REPLAY_BASE"]
    assert base.index("github.event.repository.default_branch") < base.index("github.ref_name")


def test_only_a_push_to_the_base_branch_writes_the_cache():
    (save,) = [s for s in ACTION["runs"]["steps"] if "cache/save" in s.get("uses", "")]
    assert "github.event_name == 'push'" in save["if"]
    assert f"github.ref_name == ({DEFAULT_BASE})" in save["if"]
    policies = [rule["variables"]["REPLAY_CACHE"] for rule in TEMPLATE["replay"]["rules"]]
    assert policies == ["pull", "pull-push"]


# --- the script ---


@pytest.fixture(scope="module")
def upstream(tmp_path_factory):
    """A project with a compiler: `main`, and branches that change it harmlessly and harmfully."""
    tree = tmp_path_factory.mktemp("upstream") / "project"
    copy_compiler(tree)
    (tree / "program.py").write_text(PROGRAM)
    (tree / ".gitignore").write_text("__pycache__\n")
    git(tree, "init", "--quiet", "--initial-branch=main")
    commit(tree, "a compiler")
    for branch, patch in (("spaces", SPACES), ("swaps", SWAPS)):
        git(tree, "checkout", "--quiet", "-b", branch, "main")
        path = tree / patch.file
        assert path.read_text().count(patch.before) == 1
        path.write_text(path.read_text().replace(patch.before, patch.after))
        commit(tree, branch)
        (tree / "notes.txt").write_text("more history")
        commit(tree, "notes")
    git(tree, "checkout", "--quiet", "main")
    (tree / "news.txt").write_text("main goes on")
    commit(tree, "news")
    return tree


def git(tree, *words):
    settings = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    done = subprocess.run(
        ["git", "-C", str(tree), *settings, *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(tree, message):
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "-m", message)


def clone(upstream, to, branch, *options):
    """What a CI job starts with."""
    place = ("--branch", branch, f"file://{upstream}", str(to))
    subprocess.run(["git", "clone", "--quiet", *options, *place], check=True)
    return to


def start(job, known, reports, program="python program.py"):
    """The script of the action, begun as a CI would."""
    environ = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{job}:{ROOT}",
        "REPLAY_COMMAND": program,
        "REPLAY_OPTIONS": "--compiler . --jobs 1",
        "REPLAY_REMOTE": "origin",
        "REPLAY_BASE": "main",
        "REPLAY_KNOWN": str(known),
        "REPLAY_REPORTS": str(reports),
    }
    return subprocess.Popen(
        ["bash", "-c", SCRIPT], cwd=job, env=environ, stdout=subprocess.PIPE, text=True
    )


def end(process):
    out, _ = process.communicate(timeout=300)
    return process.returncode, out


def test_a_harmful_change_in_a_shallow_clone_is_red_and_leaves_its_reports(upstream, tmp_path):
    job = clone(upstream, tmp_path / "job", "swaps", "--depth=1")
    code, out = end(start(job, tmp_path / "known.kr", tmp_path / "reports"))
    assert code == 1
    assert "1 code = 1 records" in out
    assert "numerics: 1 wrong" in out
    assert sorted(path.suffix for path in (tmp_path / "reports").iterdir()) == [
        ".html", ".md", ".sarif", ".xml",
    ]  # fmt: skip
    assert not (tmp_path / "known.kr").exists()


@pytest.mark.slow
def test_first_run_on_the_base_branch_then_a_harmless_change_with_what_is_known(upstream, tmp_path):
    known = tmp_path / "cache" / "known.kr"
    job = clone(upstream, tmp_path / "main", "main")
    code, out = end(start(job, known, tmp_path / "reports"))
    assert (code, "1 same = 1 records" in out) == (0, True)
    assert known.exists()
    job = clone(upstream, tmp_path / "job", "spaces")
    other = PROGRAM.replace("SUB", "ADD")
    (job / "program.py").write_text(other)  # it no longer compiles the kernel of the base branch
    code, out = end(start(job, known, tmp_path / "reports"))
    assert code == 1
    assert "1 same · 1 code = 2 records" in out
    assert "numerics: 1 exact" in out


@pytest.mark.slow
def test_two_jobs_at_once_do_not_meet(upstream, tmp_path):
    known = tmp_path / "known.kr"
    jobs = [clone(upstream, tmp_path / name, name) for name in ("spaces", "swaps")]
    begun = [start(job, known, job / "reports") for job in jobs]
    ended = [end(process) for process in begun]
    assert [code for code, _ in ended] == [1, 1]
    assert "numerics: 1 exact" in ended[0][1]
    assert "numerics: 1 wrong" in ended[1][1]


@pytest.mark.slow
def test_a_damaged_cache_a_failing_program_and_no_kernels_are_red(upstream, tmp_path):
    job = clone(upstream, tmp_path / "job", "main")
    known = tmp_path / "known.kr"
    assert end(start(job, known, tmp_path / "reports", "exit 7"))[0] == 7
    assert end(start(job, known, tmp_path / "reports", "true"))[0] == 3
    job = clone(upstream, tmp_path / "change", "spaces")
    known.write_bytes(b"KR damaged")
    assert end(start(job, known, tmp_path / "reports"))[0] != 0


@pytest.mark.slow
def test_a_change_that_compiles_nothing_is_red_whatever_the_base_branch_is_known_to_have(
    upstream, tmp_path
):
    known = tmp_path / "known.kr"
    assert end(start(clone(upstream, tmp_path / "main", "main"), known, tmp_path / "r"))[0] == 0
    job = clone(upstream, tmp_path / "change", "spaces")
    assert end(start(job, known, tmp_path / "reports", "true"))[0] == 3


@pytest.mark.slow
def test_the_base_branch_drops_what_it_no_longer_compiles(upstream, tmp_path):
    """It was replayed for ever: red on each push where the compiler refuses it by now."""
    known = tmp_path / "known.kr"
    job = clone(upstream, tmp_path / "before", "main")
    (job / "program.py").write_text(PROGRAM.replace("SUB", "FDIV"))
    assert end(start(job, known, tmp_path / "reports"))[0] == 0
    job = clone(upstream, tmp_path / "after", "main")
    code, out = end(start(job, known, tmp_path / "reports"))
    assert (code, "1 same = 1 records" in out) == (0, True)
    with open_reader(known) as reader:
        (found,) = reader
    assert "SUB" in found.record.ast
