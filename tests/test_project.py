"""The project's own rules: set-up, layers, packaging, and what its files may say."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("compiler", "corpus", "replay")


def run(*command, cwd=ROOT, env=None):
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def tracked(*paths):
    listing = run("git", "ls-files", "-z", "--", *paths).stdout.split("\0")
    return [name for name in listing if name and (ROOT / name).is_file()]


def texts():
    for name in tracked():
        try:
            yield name, (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def copy_of_the_project(to):
    for name in tracked():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, to / name)
    return to


@pytest.mark.parametrize("target", ["setup", "demo", "test", "test-all"])
def test_the_makefile_has_the_target(target):
    assert run("make", "--dry-run", target).returncode == 0


def test_ci_runs_make_test():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    lines = script.read_text(encoding="utf-8").splitlines()
    assert "set -euo pipefail" in lines
    assert any(line.startswith("make test") for line in lines)


def test_make_test_covers_every_environment_that_tox_runs_by_default():
    default = re.search(r"env_list = (.*)", (ROOT / "tox.ini").read_text(encoding="utf-8"))[1]
    recipe = run("make", "--dry-run", "test").stdout
    assert default.replace(" ", "") in recipe


def test_setup_names_a_python_that_is_too_old(tmp_path):
    old = tmp_path / "old-python"
    old.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    old.chmod(0o755)
    copy = copy_of_the_project(tmp_path / "with a space")
    answer = run(copy / "ci" / "setup.sh", env=os.environ | {"PYTHON": str(old)})
    assert answer.returncode == 1
    assert answer.stdout.count("\n") == 1
    assert "old-python is older than Python 3.11" in answer.stdout


def test_setup_goes_on_without_opencl_and_says_so_in_one_line(tmp_path):
    # A machine without vendors, and without anything on its PATH that could install one.
    poor = os.environ | {"OCL_ICD_VENDORS": str(tmp_path), "PATH": str(tmp_path)}
    answer = run(sys.executable, ROOT / "ci" / "opencl.py", tmp_path / "device", env=poor)
    assert answer.returncode == 0
    assert answer.stdout.count("\n") == 1
    assert "going on with LLVM alone" in answer.stdout
    assert not (tmp_path / "device").exists()


# One import per contract of pyproject.toml that it must not allow.
PLANTED = {
    "corpus/planted_layer.py": "import compiler",
    "compiler/ir/planted_layer.py": "import compiler.observe",
    "replay/planted_a.py": "import replay.planted_b",
    "replay/planted_b.py": "import replay.planted_a",
    "compiler/backends/reference/planted.py": "import compiler.target",
    "corpus/planted_homes.py": "import diskcache, hypothesis, llvmlite, obstore, onnx, pyopencl",
}


def test_every_layer_contract_breaks_on_an_import_that_it_forbids(tmp_path):
    project = copy_of_the_project(tmp_path)
    for name, statement in PLANTED.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).parent.joinpath("__init__.py").touch()
        with (project / name).open("a", encoding="utf-8") as file:
            file.write(f"\n{statement}\n")
    answer = run(
        Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo", cwd=project
    )
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    kept = [
        contract["name"] for contract in contracts if f"{contract['name']} KEPT" in answer.stdout
    ]
    assert kept == []
    assert f"{len(contracts)} broken" in answer.stdout


def test_markers_that_silence_a_check_name_it_and_carry_a_reason():
    marker = re.compile(r"#\s*(?:noqa|type:\s*ignore)(.*)")
    reason = re.compile(r"(?:\[[\w, -]+\]|:\s*[A-Z]+\d+(?:\s*,\s*[A-Z]+\d+)*)\W+\w{2,}")
    bare = [
        f"{name}: {found[0]}"
        for name, text in texts()
        if name.endswith(".py") and name != "tests/test_project.py"
        for found in marker.finditer(text)
        if not reason.match(found[1])
    ]
    assert bare == []


def test_no_file_names_a_place_on_somebodys_machine_or_a_package_index():
    places = re.compile(
        r"(?<![\w.])/(?:work|root|home|Users|opt)/\w"
        r"|\bpypi\.org|pythonhosted|--(?:extra-)?index-url|--find-links|--trusted-host"
    )
    named = [
        f"{name}: {found[0]}"
        for name, text in texts()
        if name != "tests/test_project.py"
        for found in places.finditer(text)
    ]
    assert named == []


def public_names(package):
    """What `__all__` of the package lists; None if it does not say."""
    for statement in ast.parse((package / "__init__.py").read_text(encoding="utf-8")).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                return ast.literal_eval(value)
    return None


def imports_across(name):
    """(package folder, imported name) for each import of `name` from a package of ours."""
    for statement in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
        if not isinstance(statement, ast.ImportFrom) or statement.module is None:
            continue
        module = ROOT.joinpath(*statement.module.split("."))
        if (module / "__init__.py").is_file():
            for alias in statement.names:
                yield module, alias.name
        elif module.with_suffix(".py").is_file():
            yield module.parent, module.name


def test_code_outside_a_package_imports_only_its_public_names():
    private = [
        f"{name}: {imported} of {package.relative_to(ROOT)}"
        for name in tracked(*PACKAGES)
        if name.endswith(".py")
        for package, imported in imports_across(name)
        if not (ROOT / name).is_relative_to(package)
        if imported not in (public_names(package) or [imported])
    ]
    assert private == []


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(tmp_path):
    copy = copy_of_the_project(tmp_path / "project")
    built = run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", tmp_path, copy)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == set(tracked(*PACKAGES))


def test_the_seeds_take_less_than_two_megabytes_in_git():
    """Git keeps files compressed with zlib."""
    seeds = sorted((ROOT / "corpus" / "seeds").glob("*.txt"))
    assert [path.name for path in seeds] == ["models.txt", "seeds.txt"]
    assert sum(len(zlib.compress(path.read_bytes())) for path in seeds) < 2_000_000
