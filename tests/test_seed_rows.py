"""Every row of docs/rows.md has tests that name it, and a patch that shows they see the behaviour.

To add a row's test: `# row N` on its `def` line, and its id in seed_rows.toml.
"""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from replay.patched import Patch, copy_compiler

ROOT = Path(__file__).parents[1]
TABLE = tomllib.loads((ROOT / "tests" / "seed_rows.toml").read_text(encoding="utf-8"))
ROWS = range(1, 88)
_ROWS = re.compile(r"# rows? ([\d, and]+)")  # on the line of the def, or above its decorators
_DEF = re.compile(r"def (test_\w+)\(")


def named_rows():
    """Row -> the tests that name it, as FILE::NAME below tests/."""
    found = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name, rows in _named_in(path.read_text(encoding="utf-8").splitlines()):
            for row in rows:
                test = f"{path.relative_to(ROOT / 'tests').as_posix()}::{name}"
                found.setdefault(int(row), []).append(test)
    return found


def _named_in(lines):
    rows = []
    for line in lines:
        if line.startswith(("# row", "def test_")) and (said := _ROWS.search(line)):
            rows += re.findall(r"\d+", said[1])
        if test := _DEF.match(line):
            yield test[1], rows
            rows = []


def patch_of(row):
    return Patch(TABLE[str(row)]["file"], TABLE[str(row)]["before"], TABLE[str(row)]["after"])


def test_every_row_has_a_test():
    assert sorted(map(int, TABLE)) == list(ROWS)


def test_the_table_lists_just_the_tests_that_name_a_row():
    named = {row: sorted(tests) for row, tests in named_rows().items()}
    listed = {int(row): sorted(entry["tests"]) for row, entry in TABLE.items()}
    assert listed == named


@pytest.mark.parametrize("row", sorted(map(int, TABLE)))
def test_every_test_of_a_row_exists_and_its_patch_applies_once(row):
    for test in TABLE[str(row)]["tests"]:
        file, _, name = test.partition("::")
        tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
        assert name in [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    patch = patch_of(row)
    source = (ROOT / patch.file).read_text(encoding="utf-8")
    assert source.count(patch.before) == 1
    ast.parse(source.replace(patch.before, patch.after))


def test_the_page_states_every_row():
    text = (ROOT / "docs" / "rows.md").read_text(encoding="utf-8")
    page = text.partition("## The 87 rows")[2]
    assert [int(row) for row in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)] == list(ROWS)


# --- slow: the patches really are seen ---


def _run(tests, compiler):
    """Which of `tests` fail when they import `compiler` from that directory, by name."""
    path = os.pathsep.join([str(compiler), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider"]
    command += ["-o", "pythonpath="]  # which would find this checkout's compiler first
    command += [f"tests/{test}" for test in tests]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return {f"{file}::{name}" for file, name in _FAILED.findall(done.stdout)}, done.stdout


_FAILED = re.compile(r"^FAILED tests/(\S+?)::(test_\w+)", re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("row", sorted(map(int, TABLE)))
def test_the_patch_of_a_row_makes_its_test_fail_and_others_pass(row, tmp_path):
    first = TABLE[str(row)]["tests"][0]
    file = first.partition("::")[0]
    beside = {test for entry in TABLE.values() for test in entry["tests"] if test.startswith(file)}
    failed, output = _run(sorted(beside), copy_compiler(tmp_path, (patch_of(row),)))
    assert first in failed, output
    assert len(beside) == 1 or failed != beside, "the patch breaks all, so nothing about this row"


@pytest.mark.slow
def test_every_test_of_the_table_passes_without_a_patch(tmp_path):
    tests = sorted({test for entry in TABLE.values() for test in entry["tests"]})
    failed, output = _run(tests, copy_compiler(tmp_path))
    assert not failed, output
