"""What timed searches found is recalled for the same question, and for no other."""

import json
import logging
import pickle

import pytest

from compiler import CompileOptions
from compiler.kernel import Finalist, Searched, from_ast, parse_opts
from compiler.options import Cost, SearchOptions
from compiler.target import LLVM
from compiler.tuning.memory import Memory, question_of

OPTIONS = CompileOptions(search=SearchOptions(beam=2, cost=Cost.TIME))
FOUND = Searched(
    parse_opts("UPCAST g0 8"),
    (Finalist(parse_opts("UPCAST g0 8"), 1e-6), Finalist((), 2e-6)),
    (),
    rounds=2, lowered=9, judged=5, duplicates=1, dropped=(("BuildError", 1),),
)  # fmt: skip


@pytest.fixture
def question(ast):
    return question_of(ast, LLVM, OPTIONS, {"llvm": "22", "cpu": "znver5"}, 2)


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "made when needed"


@pytest.fixture
def memory(directory):
    return Memory(directory)


def recalled(memory, question, ast):
    return memory.recall(question, from_ast(ast), LLVM)


def file_in(directory):
    (path,) = directory.iterdir()
    return path


def test_an_answer_is_recalled(memory, question, ast):
    assert recalled(memory, question, ast) is None
    memory.keep(question, FOUND)
    found = recalled(memory, question, ast)
    assert (found.opts, found.finalists) == (FOUND.opts, FOUND.finalists)
    assert found.is_recalled


def test_nothing_but_the_answer_is_left_in_the_directory(memory, directory, question):
    memory.keep(question, FOUND)
    memory.keep(question, FOUND)
    assert file_in(directory).suffix == ".json"


@pytest.mark.parametrize(
    "change",
    [
        {"ast": "another"},
        {"target": "llvm/x86-64-v3"},
        {"options": {}},
        {"toolchain": {"llvm": "23", "cpu": "znver5"}},
        {"threads": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_question_has_another_answer(memory, question, ast, change):
    memory.keep(question, FOUND)
    assert recalled(memory, {**question, **change}, ast) is None


def test_a_name_of_the_kernel_is_no_part_of_the_question(ast):
    named = CompileOptions(search=OPTIONS.search, name="mine")
    both = [question_of(ast, LLVM, options, {}, 2) for options in (OPTIONS, named)]
    assert both[0] == both[1]


class Bomb:
    def __reduce__(self):
        return (print, ("this was executed",))


def _cut(text):
    return text[: len(text) // 2].encode()


@pytest.mark.parametrize(
    "damage",
    [
        _cut,
        lambda text: b"",
        lambda text: b"\xff\xfe",
        lambda text: b"[1, 2]",
        lambda text: pickle.dumps(Bomb()),
        lambda text: text.replace('"schema": 1', '"schema": 2').encode(),
        lambda text: text.replace("UPCAST g0 8", "UPCAST g0 7").encode(),
        lambda text: text.replace("UPCAST g0 8", "EXPLODE g0 8").encode(),
        lambda text: text.replace('"UPCAST g0 8"', "8").encode(),
        lambda text: text.replace("znver5", "znver4").encode(),
        lambda text: b"[" * 100_000,
        lambda text: json.dumps(
            {**json.loads(text), "finalists": [["UPCAST g0 8", 10**400]]}
        ).encode(),
    ],
    ids=[
        *("cut", "empty", "no text", "a list", "a pickle", "another schema", "an illegal opt"),
        *("an unknown opt", "a number for opts", "another question", "brackets", "a huge cost"),
    ],
)
def test_a_damaged_answer_is_ignored_with_one_line(
    memory, directory, question, ast, caplog, capsys, damage
):
    memory.keep(question, FOUND)
    path = file_in(directory)
    path.write_bytes(damage(path.read_text()))
    with caplog.at_level(logging.WARNING):
        assert recalled(memory, question, ast) is None
    (line,) = caplog.messages
    assert "ignored" in line
    assert "\n" not in line
    assert "executed" not in capsys.readouterr().out


def test_a_directory_that_cannot_be_written_is_said_and_stops_nothing(tmp_path, question, caplog):
    (tmp_path / "file").write_text("in the way")
    with caplog.at_level(logging.WARNING):
        Memory(tmp_path / "file").keep(question, FOUND)
    assert "not kept" in caplog.text


def test_an_answer_that_cannot_be_put_in_its_place_leaves_nothing(
    memory, directory, question, caplog
):
    memory.keep(question, FOUND)
    path = file_in(directory)
    path.unlink()
    path.mkdir()
    with caplog.at_level(logging.WARNING):
        memory.keep(question, FOUND)
    assert "not kept" in caplog.text
    assert list(directory.iterdir()) == [path]


def test_an_answer_is_text_that_people_can_read(memory, directory, question):
    memory.keep(question, FOUND)
    assert json.loads(file_in(directory).read_text())["opts"] == "UPCAST g0 8"
