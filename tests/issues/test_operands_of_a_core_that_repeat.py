"""A tensor core was given the wrong elements of an operand that repeats along one of its axes.

Equal places in memory passed for neighbours, so 16 elements were read where one was meant, also
outside of the buffer. And where neither operand moves along the terms, padded terms counted.
Emulated, one that does not move along the terms, but is 0 in their padding, had one place in local
memory for all terms that are unrolled: the last of them was left there.
"""

import numpy as np
import pytest

from compiler import compile_kernel
from compiler.backends.reference import evaluate, numpy_dtype
from compiler.errors import IllegalOptError
from compiler.ir import CORES
from compiler.kernel import parse_opts
from compiler.target import PROFILES, find_target
from tests.kernel.products import sums, target_of

SIZE = 21  # no multiple of any tile: rows, columns and terms are padded, too
LAYOUTS = {  # strides of a and b by row, column and term
    "b repeats along columns": ((SIZE, 0, 1), (0, 0, 1)),
    "a repeats along rows": ((0, 0, 1), (0, 1, SIZE)),
    "a repeats along terms": ((1, 0, 0), (0, 1, SIZE)),
    "b repeats along terms": ((SIZE, 0, 1), (0, 1, 0)),
    "both repeat along terms": ((1, 0, 0), (0, 1, 0)),
    "neighbours two apart": ((2 * SIZE, 0, 2), (0, 2, 2 * SIZE)),
}


def of_target(core):
    """A target that has the core, and how it uses it: for real, or else emulated."""
    having = [each for each in PROFILES if core.name in each.capabilities.tensor_cores]
    return (having[0], 1) if having else (find_target("opencl"), 3)


def numbers(core):
    random = np.random.default_rng(3)
    drawn = [random.integers(0, 4, 2 * SIZE * SIZE) for _ in range(2)]
    given = [x.astype(numpy_dtype(d)) for x, d in zip(drawn, core.dtypes, strict=False)]
    return dict(enumerate(given, 1))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("core", CORES, ids=lambda core: core.name)
def test_a_core_is_given_what_its_operands_hold(core, layout):
    target, use = of_target(core)
    ast, data = sums(core, SIZE, LAYOUTS[layout]), numbers(core)
    wanted = evaluate(ast, data)[0]
    opts = parse_opts(f"TC {core.name} g1 g0 r0 2 {use}")
    last = compile_kernel(ast, target, opts=opts).stages[-1].node
    assert np.array_equal(evaluate(last, data)[0], wanted)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("core", CORES, ids=lambda core: core.name)
def test_an_emulated_core_holds_each_of_the_terms_that_are_unrolled(core, layout):
    left = "r0" if core.size("k") == 1 else "r0.o"
    opts = parse_opts(f"TC {core.name} g1 g0 r0 2 3; PADTO {left} 4; UNROLL {left} 4")
    ast, data = sums(core, SIZE, LAYOUTS[layout]), numbers(core)
    last = compile_kernel(ast, target_of(core), opts=opts).stages[-1].node
    assert np.array_equal(evaluate(last, data)[0], evaluate(ast, data)[0])


@pytest.mark.parametrize("layout", ["a repeats along terms", "b repeats along terms"])
def test_padded_terms_do_not_make_inf_a_nan(layout):
    core = next(core for core in CORES if core.name == "cpu.outer16x16.f32")
    ast, data = sums(core, SIZE, LAYOUTS[layout]), numbers(core)
    data = {
        slot: np.where(array == 3, np.inf, 1).astype(np.float32) for slot, array in data.items()
    }
    opts = parse_opts("TC cpu.outer16x16.f32 g1 g0 r0 2 1; PADTO r0 8")
    last = compile_kernel(ast, find_target("llvm/tiles"), opts=opts).stages[-1].node
    assert np.array_equal(evaluate(last, data)[0], evaluate(ast, data)[0])


def test_a_product_of_two_that_repeat_along_rows_is_refused():
    core = CORES[0]
    opts = parse_opts(f"TC {core.name} g1 g0 r0 2 1")
    with pytest.raises(IllegalOptError, match="no axis repeats one operand and moves the other"):
        compile_kernel(sums(core, SIZE, ((0, 0, 1), (0, 0, 1))), of_target(core)[0], opts=opts)
