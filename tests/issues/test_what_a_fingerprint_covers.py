"""Found by a newer llvmlite that came first on PYTHONPATH without metadata: nothing was compiled.

Versions were read off the names of metadata, wherever those lay, so a copy that had none was the
installed library. Their kind: what is imported decides, and of our own modules that the answer of a
compiler passes through none is left out.
"""

import ast
import shutil
import sys
from pathlib import Path

import pytest

import replay
from replay.fingerprint import _OURS
from replay.toolchain import toolchain_of

REPLAY = Path(replay.__file__).parent
# Of what those import: how calls travel and are made again, and what is said of results.
CARRIERS = {
    *("compare.c_edits", "errors", "interval", "isolation.wire", "isolation.workers"),
    *("numerics.checking", "structure"),
}


@pytest.fixture
def site(tmp_path):
    """A place with an installed library."""
    package = tmp_path / "site" / "llvmlite"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("version = 1\n")
    (tmp_path / "site" / "llvmlite-0.50.0.dist-info").mkdir()
    return tmp_path / "site"


def version(*path):
    return toolchain_of([str(each) for each in path], "3.11", "x86_64")["llvmlite"]


@pytest.fixture
def copy(site, tmp_path):
    """A copy of its package alone, as one has it on PYTHONPATH."""
    shutil.copytree(site / "llvmlite", tmp_path / "copy" / "llvmlite")
    return tmp_path / "copy"


def test_a_copy_without_metadata_is_not_the_installed_library(site, copy):
    assert version(site) == version(site, copy) == "0.50.0"
    assert version(copy, site).startswith("0.50.0+copy.")


def test_a_copy_that_was_edited_is_another_one(site, copy):
    before = version(copy, site)
    (copy / "llvmlite" / "__init__.py").write_text("version = 2\n")
    assert before != version(copy, site, copy)  # another path: versions are remembered by path


def test_a_directory_of_that_name_that_is_no_package_counts_for_nothing(site, tmp_path):
    (tmp_path / "data" / "llvmlite").mkdir(parents=True)
    assert version(tmp_path / "data", site) == "0.50.0"


@pytest.mark.parametrize("name", ["llvmlite-0.9.egg-info", "llvmlite-0.9-py3.11.egg-info"])
def test_metadata_of_a_distribution_is_read_as_well(tmp_path, name):
    (tmp_path / name).mkdir()
    assert version(tmp_path) == "0.9"


def modules_of(node):
    """The modules of an import from `replay`: a package holds them, or is one itself."""
    place = node.module.removeprefix("replay").removeprefix(".")
    inner = [f"{place}.{alias.name}".removeprefix(".") for alias in node.names]
    are_modules = [(REPLAY / name.replace(".", "/")).with_suffix(".py").is_file() for name in inner]
    return inner if all(are_modules) else [place]


@pytest.mark.parametrize("module", _OURS)
def test_what_a_module_of_ours_asks_is_covered_too(module):
    tree = ast.parse((REPLAY / module).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if f"{node.module}.".startswith("replay.")]
    asked = {name for node in ours for name in modules_of(node)}
    covered = {each.removesuffix(".py").removesuffix("/__init__") for each in _OURS}
    assert asked - CARRIERS <= {each.replace("/", ".") for each in covered}


def test_the_libraries_of_this_process_are_the_installed_ones():
    assert "+copy" not in str(toolchain_of(sys.path, "3.11", "x86_64"))
