"""What is not compiled again, and that nothing which matters is among it."""

import compileall
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from programs import DIFFERENCE, SPACING, keys_of, make_corpus, patched, record_of, run

import compiler
from corpus import Stored, decode_record, digest_of_body, open_reader
from replay.bytecode import drop_stale
from replay.fingerprint import Fingerprints, Memory, cache_path
from replay.reach import Tree, read_source
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
    options = ("--corpus", corpus, "--compiler", copy, "--update")
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


@pytest.fixture
def settled(known, tmp_path):
    """A memory that knows the corpus of `known` as a whole, and the keys of that corpus."""
    path = tmp_path / "settled"
    path.write_bytes((known / "memory").read_bytes())
    memory = Memory(path, known / "copy" / "compiler", Mode.PINNED, {})
    with open_reader(known / "c") as reader:
        memory.settle(reader.digest())
        memory.save()
        return path, list(reader.keys())


def known_as_a_whole(path, known, keys):
    """The keys that need no look, as the bytes of the corpus are known; None: look at each."""
    memory = Memory(path, known / "copy" / "compiler", Mode.PINNED, {})
    with open_reader(known / "c") as reader:
        found = memory.all_of(keys, reader.digest)
    return None if found is None else list(found)


def test_of_a_corpus_without_one_new_byte_all_is_known_at_once(known, settled):
    path, keys = settled
    assert known_as_a_whole(path, known, keys) == keys


@pytest.mark.parametrize("module", ["rules/fold.py", "backends/opencl/render.py"])
def test_a_known_corpus_is_looked_into_where_code_has_changed(known, settled, module):
    with edited(known / "copy" / "compiler" / module):
        assert known_as_a_whole(settled[0], known, settled[1]) is None


def test_a_known_corpus_with_another_byte_is_looked_into(known, settled):
    with edited(known / "c" / "cache.db", b"x"):
        assert known_as_a_whole(settled[0], known, settled[1]) is None


def test_a_record_that_is_not_known_has_the_others_looked_at(known, settled):
    assert known_as_a_whole(settled[0], known, [*settled[1], "0" * 64]) is None


def test_what_is_learned_later_is_not_vouched_for_by_the_file(known, settled):
    memory = Memory(settled[0], known / "copy" / "compiler", Mode.PINNED, {})
    with open_reader(known / "c") as reader:
        for item in reader:
            memory.learn(item, b"of a record that has been replaced")
    memory.save()
    assert known_as_a_whole(settled[0], known, settled[1]) is None


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A copy of the compiler, two records, and a memory in which that copy has made them."""
    directory = tmp_path_factory.mktemp("known")
    copy = patched(directory / "copy")
    corpus = make_corpus(directory / "c", [record_of(ONE), record_of(ONE, "opencl")])
    memory = Memory(directory / "memory", copy / "compiler", Mode.PINNED, {})
    with open_reader(corpus) as reader:
        for key, value in reader.values():
            memory.learn(Stored(key, decode_record(key, value)), digest_of_body(key, value))
    memory.save()
    return directory


def to_compile(directory):
    """The backends whose record is not known any more."""
    memory = Memory(directory / "memory", directory / "copy" / "compiler", Mode.PINNED, {})
    with open_reader(directory / "c") as reader:
        return {
            decode_record(key, value).target.backend
            for key, value in reader.values()
            if memory.find(key, digest_of_body(key, value)) is None
        }


@contextmanager
def edited(file, more=b"\nplanted = 1\n"):
    before = file.read_bytes()
    file.write_bytes(before + more)
    yield
    file.write_bytes(before)


def test_code_that_has_not_changed_knows_both_records(known):
    assert to_compile(known) == set()


@pytest.mark.parametrize("module", MODULES)
def test_an_edit_of_a_module_compiles_what_it_could_change_and_only_that(known, module):
    with edited(known / "copy" / "compiler" / module):
        assert to_compile(known) == expected(module)


@pytest.mark.parametrize(
    ("module", "count"),
    [
        ("backends/opencl/render.py", 1),
        ("backends/llvm/render.py", 1),
        ("rules/fold.py", 2),
        ("frontend/tensor.py", 0),
    ],
)
def test_the_command_compiles_what_an_edit_could_change(capsys, corpus, tmp_path, module, count):
    copy = patched(tmp_path / "copy")
    assert compiles(capsys, corpus, "--compiler", copy) == (2, 0)
    with edited(copy / "compiler" / module):
        assert compiles(capsys, corpus, "--compiler", copy) == (count, 0)


def test_a_data_file_counts(known):
    file = known / "copy" / "compiler" / "rules" / "table.txt"
    file.write_text("1")
    found = to_compile(known)
    file.unlink()
    assert found == {"llvm", "opencl"}


@pytest.mark.parametrize(
    ("library", "backends"),
    [("llvmlite", {"llvm"}), ("pyopencl", {"opencl"}), ("numpy", {"llvm", "opencl"})],
)
def test_a_new_library_compiles_what_depends_on_it(known, tmp_path, monkeypatch, library, backends):
    (tmp_path / f"{library}-99.0.dist-info").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert to_compile(known) == backends


def test_damage_to_a_record_that_is_known_is_still_found(capsys, corpus):
    compiles(capsys, corpus)
    damaged = keys_of(corpus)[0]
    with sqlite3.connect(corpus / "cache.db") as database:
        (value,) = database.execute("SELECT value FROM Cache WHERE key = ?", [damaged]).fetchone()
        flipped = value[:-1] + bytes([value[-1] ^ 1])
        database.execute("UPDATE Cache SET value = ? WHERE key = ?", [flipped, damaged])
    database.close()
    assert compiles(capsys, corpus) == (0, 1)


def test_asking_a_question_again_compiles_nothing(capsys, corpus):
    compiles(capsys, corpus)
    make_corpus(corpus, [record_of(ONE)])
    assert compiles(capsys, corpus) == (0, 0)


def test_sources_are_normalized_once(capsys, corpus, tmp_path):
    compiles(capsys, corpus)
    (memory,) = tmp_path.glob("cache/kernel-replay/*.same")
    saved = memory.read_bytes()
    read_source.cache_clear()
    assert compiles(capsys, corpus) == (0, 0)
    assert read_source.cache_info().misses == 0
    assert memory.read_bytes() == saved


def test_a_memory_that_is_no_memory_is_one_that_is_empty(tmp_path, known):
    (tmp_path / "memory").write_bytes(b"\x82\xa6tables\x01")
    memory = Memory(tmp_path / "memory", known / "copy" / "compiler", Mode.PINNED, {})
    assert memory.find("0" * 64, b"") is None


def test_docstrings_and_layout_do_not_count():
    plain = b"def f(x):\n    return x\n"
    assert read_source(b'def f( x ):\n    """Say."""\n    # why\n    return x').digest == (
        read_source(plain).digest
    )
    assert read_source(plain.replace(b"return x", b"return -x")).digest != read_source(plain).digest


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"x = 1", b"x = True"),
        (b"x = 0.0", b"x = -0.0"),
        (b"def f(): return 'a'", b"def f(): return 'b'"),
        (b"y = x in {1, 2}", b"y = x in {1, 3}"),
        (b"def f(): 'doc'", b"def f(): 'doc'; return 1"),
    ],
)
def test_what_python_would_do_otherwise_counts(one, other):
    assert read_source(one).digest != read_source(other).digest


def test_a_set_of_constants_has_one_digest_in_every_process():
    code = 'from replay.reach import read_source as r; print(r(b\'x in {"a", "b"}\').digest)'
    environs = [{**os.environ, "PYTHONHASHSEED": seed} for seed in ("1", "2", "3")]
    words = [sys.executable, "-c", code]
    assert len({subprocess.check_output(words, env=environ) for environ in environs}) == 1


def test_without_a_home_there_is_no_cache():
    assert cache_path({}, Path("c")) is None


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(capsys, corpus, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nothing")
    assert compiles(capsys, corpus) == (2, 0)
    assert compiles(capsys, corpus) == (2, 0)


# --- what Python could come to ---


RENDER = "backends/opencl/render.py"


@pytest.fixture
def tree(tmp_path):
    return patched(tmp_path / "copy")


def answers(tree, environ=None):
    """The fingerprints of both backends."""
    fingerprints = Fingerprints(Tree(tree / "compiler", {}), Mode.PINNED, environ or {})
    return [fingerprints.of(backend) for backend in ("llvm", "opencl")]


def append(tree, name, text):
    file = tree / "compiler" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as out:
        out.write(text)


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("../beside.py", "from beside import X\n"),
        ("../beside/inner.py", "import beside.inner\n"),
        ("backends/llvm/extra.py", "from compiler.backends.llvm.extra import X\n"),
        ("backends/llvm/extra.py", "from compiler.backends.llvm import extra\n"),
        ("backends/llvm/extra.py", "from ..llvm import extra\n"),
        ("frontend/extra.py", "def f():\n    import compiler.frontend.extra\n"),
        (
            "frontend/extra.py",
            'm = __import__("importlib").import_module("compiler.frontend.extra")\n',
        ),
        ("frontend/extra.pyc", "import compiler.frontend.extra\n"),
    ],
)
def test_a_module_that_a_backend_imports_counts_wherever_it_lies(tree, file, line):
    append(tree, file, "X = 1\n")
    before = answers(tree)
    append(tree, file, "X = 2\n")
    assert answers(tree)[1] == before[1]
    append(tree, RENDER, line)
    imported = answers(tree)
    append(tree, file, "X = 3\n")
    assert answers(tree)[1] != imported[1]


def test_a_module_counts_through_others(tree):
    append(tree, "../first.py", "import second\n")
    append(tree, "../second.py", "import compiler.frontend.third\n")
    append(tree, "frontend/third.py", "X = 1\n")
    append(tree, RENDER, "import first\n")
    before = answers(tree)
    append(tree, "frontend/third.py", "X = 2\n")
    assert answers(tree)[1] != before[1]
    assert answers(tree)[0] == before[0]


def test_a_directory_that_is_a_link_counts_and_may_lead_in_circles(tree):
    rules = tree / "compiler" / "rules"
    rules.rename(tree / "elsewhere")
    rules.symlink_to("../elsewhere")
    (tree / "elsewhere" / "up").symlink_to("..")
    before = answers(tree)
    with (tree / "elsewhere" / "fold.py").open("a") as out:
        out.write("X = 1\n")
    after = answers(tree)
    assert all(new != old for new, old in zip(after, before, strict=True))


def test_remarks_count_for_code_that_reads_them(tree):
    append(tree, RENDER, 'def extra():\n    " "\n\n\nX = extra.__doc__\n')
    before = answers(tree)
    file = tree / "compiler" / RENDER
    file.write_text(file.read_text().replace('    " "\n', '    ";"\n'))
    assert answers(tree)[1] != before[1]
    assert answers(tree)[0] == before[0]


def test_variables_of_the_environment_count_where_code_names_them(tree):
    assert answers(tree, {"KR_X": "1"}) == answers(tree)
    append(tree, RENDER, 'import os\n\nX = os.environ.get("KR_X")\n')
    plain, other = answers(tree), answers(tree, {"KR_X": "1"})
    assert plain[0] == other[0]
    assert plain[1] != other[1]
    assert answers(tree, {"PYTHONOPTIMIZE": "1"})[0] != plain[0]
    assert answers(tree, {"PYTHONHASHSEED": "1"}) == plain


@pytest.mark.parametrize("library", ["msgspec", "kr_library"])
def test_the_version_of_whatever_is_imported_counts(tree, tmp_path, monkeypatch, library):
    append(tree, RENDER, f"import {library}\n")
    before = answers(tree)
    (tmp_path / f"{library}-99.0.dist-info").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert answers(tree)[1] != before[1]


def test_a_compiler_that_cannot_be_imported_is_no_pass(capsys, tmp_path, tree):
    corpus = make_corpus(tmp_path / "c", [record_of(ONE, "opencl")])
    assert compiles(capsys, corpus, "--compiler", tree) == (1, 0)
    append(tree, "backends/llvm/render.py", 'raise RuntimeError("boom")\n')
    words = ("run", "--corpus", corpus, "--verify", "none", "--compiler", tree)
    code, _, err = run(capsys, *words)
    assert code == 3
    assert "boom" in err
    append(tree, "backends/llvm/render.py", "\n")
    file = tree / "compiler" / "backends/llvm/render.py"
    file.write_text(file.read_text().replace('raise RuntimeError("boom")', "planted = 1"))
    assert compiles(capsys, corpus, "--compiler", tree) == (0, 0)


def test_byte_code_older_than_its_source_is_not_run(capsys, tmp_path, tree):
    """An edit of the same size whose time was set back: Python alone would run the old code."""
    corpus = make_corpus(tmp_path / "c", [record_of(ONE, "opencl")])
    assert compiles(capsys, corpus, "--compiler", tree) == (1, 0)
    file = tree / "compiler" / "backends" / "opencl" / "ops.py"
    before = file.stat()
    text = file.read_text()
    file.write_text(
        text.replace("CLK_LOCAL_MEM_FENCE", "CLK_LOCAL_MEM_FENCF").replace("}[{", "}({")
    )
    assert file.stat().st_size == before.st_size
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    (cached,) = (file.parent / "__pycache__").glob("ops.*.pyc")
    drop_stale(tree / "compiler")
    assert not cached.exists()
    assert (file.parent / "__pycache__").is_dir()


def test_byte_code_that_is_newer_stays(tree):
    compileall.compile_dir(tree / "compiler" / "rules", quiet=2)
    drop_stale(tree / "compiler")
    assert list((tree / "compiler" / "rules" / "__pycache__").glob("fold.*.pyc"))
