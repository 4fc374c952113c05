"""Kernels whose opts were searched for: captured with what was found, replayed without a search."""

import json

import pytest
from programs import capture_in, replay_in

from corpus import Stored, open_reader
from replay.patched import Patch, copy_compiler

PROGRAM = """
import numpy as np
from compiler import CompileOptions, SearchOptions, Tensor, compiling
from compiler.options import Cost
x = Tensor(np.ones((8, 48), "f4"))
search = SearchOptions(beam=1, depth=1, tries=6, cost=Cost.TIME)
with compiling(CompileOptions(search=search), search_cache="tuned"):
    (x * 2).sum(axis=1).numpy()
"""
NO_TIMING = Patch(
    "compiler/bench/bench.py",
    "found = [self._first(program) for program in programs]",
    'raise AssertionError("it times")',
)


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """A directory with a corpus of one searched kernel."""
    directory = tmp_path_factory.mktemp("searched")
    capture_in(directory, PROGRAM)
    return directory


def test_the_record_asks_for_a_search_and_holds_what_was_found(captured):
    with open_reader(captured / "corpus") as reader:
        (item,) = list(reader)
    assert isinstance(item, Stored)
    record = item.record
    assert record.options == {
        "search.beam": 1,
        "search.depth": 1,
        "search.tries": 6,
        "search.cost": "time",
        **{name: value for name, value in record.options.items() if name.startswith("schedule.")},
    }
    assert record.requested is None
    assert record.applied is not None
    (answer,) = (captured / "tuned").iterdir()
    found = json.loads(answer.read_text())
    assert len(record.applied) == len([opt for opt in found["opts"].split(";") if opt.strip()])


@pytest.mark.parametrize("mode", ["pinned", "free"])
def test_a_replay_of_it_times_nothing(captured, tmp_path, mode):
    tree = copy_compiler(tmp_path, [NO_TIMING])
    report = tmp_path / "report.json"
    done = replay_in(
        captured,
        *("run", "--corpus", "corpus", "--compiler", tree, "--mode", mode, "--no-skip"),
        *("--verify", "all", "--report", f"json:{report}"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = json.loads(report.read_text())["records"]
    assert record["outcome"] == "same"
    assert record["numerics"] in ("exact", "bounded")
