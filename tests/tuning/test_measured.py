"""A search by timings, from the question to the kernel that a program runs."""

import numpy as np
import pytest

from compiler import CompileOptions, Cost, SearchOptions, Tensor, compile_kernel, compiling
from compiler.compile import search_opts
from compiler.errors import DeviceError
from compiler.kernel import apply_all, from_ast
from compiler.target import LLVM, find_target

TIMED = CompileOptions(search=SearchOptions(beam=1, depth=1, cost=Cost.TIME, tries=8))


def test_what_is_found_is_legal_and_was_faster_or_is_the_heuristics_choice(ast, tmp_path):
    found = search_opts(ast, LLVM, TIMED, tmp_path)
    assert apply_all(from_ast(ast), found.opts, LLVM).applied == found.opts
    costs = {finalist.opts: finalist.cost for finalist in found.finalists}
    assert found.by_heuristics in costs
    if found.opts != found.by_heuristics:
        assert costs[found.opts] < costs[found.by_heuristics]


def test_what_was_found_is_recalled_and_nothing_is_timed(ast, tmp_path):
    first = search_opts(ast, LLVM, TIMED, tmp_path)
    again = search_opts(ast, LLVM, TIMED, tmp_path)
    assert (first.is_recalled, again.is_recalled) == (False, True)
    assert again.opts == first.opts
    compiled = compile_kernel(ast, LLVM, TIMED, search_cache=tmp_path)
    assert (compiled.requested, compiled.applied) == (None, first.opts)


def test_a_target_that_is_not_at_hand_is_searched_by_the_model_alone(ast):
    far = find_target("opencl/nvidia")
    with pytest.raises(DeviceError, match=r"nothing can be timed; use search\.cost=model"):
        compile_kernel(ast, far, TIMED)
    assert compile_kernel(ast, far, CompileOptions(search=SearchOptions(beam=1, tries=8)))


def test_tensors_are_computed_by_what_was_found(tmp_path):
    array = np.arange(96, dtype="f4").reshape(8, 12)
    with compiling(TIMED, search_cache=tmp_path / "tuned"):
        assert np.array_equal((Tensor(array) + 1).numpy(), array + 1)
    assert len(list((tmp_path / "tuned").iterdir())) == 1
