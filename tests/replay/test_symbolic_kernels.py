"""Kernels of symbolic sizes from the frontend: captured once, verified at several values."""

import pytest
from programs import capture_in, replay_in

from corpus import Stored, open_reader
from replay.patched import Patch, copy_compiler

PROGRAM = """
import numpy as np
from compiler import Tensor, Variable, jit
batch = Variable("batch", 1, 16)
scale = jit(lambda x: x[1:].sum(0) / x.shape[0])
for n in (3, 7):
    scale(Tensor(np.ones((n, 6), "f4"), device="llvm").bind(batch)).numpy()
"""
STUCK = Patch(
    "compiler/backends/llvm/runtime.py",
    "        values = variables or {}\n"
    "        numbers = variable_values(self.program, values) if self.has_variables else ()",
    "        values = dict.fromkeys(variables or {}, 1)\n"
    "        numbers = variable_values(self.program, values) if self.has_variables else ()",
)


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """A directory with a corpus of the program's kernel."""
    directory = tmp_path_factory.mktemp("symbolic")
    capture_in(directory, PROGRAM)
    return directory


def test_one_record_holds_the_variable_and_its_range(captured):
    with open_reader(captured / "corpus") as reader:
        (item,) = list(reader)
    assert isinstance(item, Stored)
    assert "VAR int64 name=batch lo=1 hi=16" in item.record.ast
    assert [a.name for a in item.record.arguments] == ["data0", "data1", "batch"]


def test_the_record_is_verified_at_several_values(captured):
    done = replay_in(captured, "verify", "--corpus", "corpus")
    assert done.returncode == 0, done.stdout
    assert "1 bounded" in done.stdout or "1 exact" in done.stdout


@pytest.mark.slow
def test_a_kernel_that_is_right_for_one_value_alone_is_wrong(captured):
    copy_compiler(captured / "tree", (STUCK,))
    words = ("run", "--corpus", "corpus", "--compiler", "tree", "--verify", "all", "--no-skip")
    done = replay_in(captured, *words)
    assert done.returncode == 1
    assert "batch=16" in done.stdout
