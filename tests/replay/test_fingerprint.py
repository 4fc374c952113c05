"""What is not compiled again, and that nothing which matters is among it."""

import json
from pathlib import Path

import pytest
from programs import DIFFERENCE, SPACING, make_corpus, patched, record_of, run

import compiler
from replay.fingerprint import Memory, cache_path, normalized_digest
from replay.recompile import Mode

ONE = DIFFERENCE.format(size=4)
MODULES = sorted(
    str(path.relative_to(Path(compiler.__file__).parent))
    for path in Path(compiler.__file__).parent.rglob("*.py")
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def corpus(tmp_path):
    return make_corpus(tmp_path / "c", [record_of(ONE), record_of(ONE, "opencl")])


def compiles(capsys, corpus, *options):
    """How many compiles a replay made, and its exit code."""
    words = ("run", "--corpus", corpus, "--verify", "none", "--determinism", "none")
    code, out, err = run(capsys, *words, "--report", "json:-", *options)
    assert out, err
    return json.loads(out)["compiles"], code


def test_unchanged_code_makes_nothing_twice(capsys, corpus):
    assert compiles(capsys, corpus) == (2, 0)
    assert compiles(capsys, corpus) == (0, 0)


def test_no_skip_compiles_all_the_same(capsys, corpus):
    compiles(capsys, corpus)
    assert compiles(capsys, corpus, "--no-skip") == (2, 0)


def test_the_modes_know_nothing_of_each_other(capsys, corpus):
    compiles(capsys, corpus)
    assert compiles(capsys, corpus, "--mode", "free") == (2, 0)


def test_a_changed_compiler_is_asked_again(capsys, corpus, tmp_path):
    compiles(capsys, corpus)
    assert compiles(capsys, corpus, "--compiler", patched(tmp_path / "copy", SPACING)) == (2, 1)


def test_a_new_baseline_is_asked_again(capsys, corpus, tmp_path):
    copy = patched(tmp_path / "copy", SPACING)
    compiles(capsys, corpus)
    options = ("--corpus", corpus, "--compiler", copy, "--verify", "none", "--update")
    run(capsys, "accept", *options)
    assert compiles(capsys, corpus) == (1, 1)


def test_a_comment_changes_nothing(capsys, corpus, tmp_path):
    copy = patched(tmp_path / "copy")
    compiles(capsys, corpus, "--compiler", copy)
    file = copy / "compiler" / "compile.py"
    file.write_text(file.read_text() + "\n# a remark\n")
    assert compiles(capsys, corpus, "--compiler", copy) == (0, 0)


def expected(module):
    """Which of two records a change of a module must compile again."""
    if module.split("/")[0].removesuffix(".py") in ("frontend", "onnx", "explain"):
        return set()
    if module.startswith("backends/") and module.count("/") > 1:
        return {module.split("/")[1]} & {"llvm", "opencl"}
    return {"llvm", "opencl"}


@pytest.mark.slow
def test_an_edit_of_any_module_compiles_what_it_could_change_and_only_that(tmp_path):
    copy = patched(tmp_path / "copy")

    def fingerprints():
        memory = Memory(tmp_path / "none", copy / "compiler", Mode.PINNED)
        return {name: memory.fingerprint(name) for name in ("llvm", "opencl")}

    before = fingerprints()
    for module in MODULES:
        file = copy / "compiler" / module
        text = file.read_bytes()
        file.write_bytes(text + b"\nplanted = 1\n")
        after = fingerprints()
        changed = {name for name in before if before[name] != after[name]}
        file.write_bytes(text)
        assert changed == expected(module), module


def test_a_data_file_counts(tmp_path):
    copy = patched(tmp_path / "copy")
    memories = [Memory(tmp_path / "none", copy / "compiler", Mode.PINNED) for _ in range(2)]
    before = memories[0].fingerprint("llvm")
    (copy / "compiler" / "table.txt").write_text("1")
    assert memories[1].fingerprint("llvm") != before


def test_docstrings_and_layout_do_not_count():
    plain = b"def f(x):\n    return x\n"
    assert normalized_digest(b'def f( x ):\n    """Say."""\n    # why\n    return x') == (
        normalized_digest(plain)
    )
    assert normalized_digest(plain.replace(b"return x", b"return -x")) != normalized_digest(plain)


def test_without_a_home_there_is_no_cache():
    assert cache_path({}, Path("c")) is None


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(capsys, corpus, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nothing")
    assert compiles(capsys, corpus) == (2, 0)
    assert compiles(capsys, corpus) == (2, 0)
