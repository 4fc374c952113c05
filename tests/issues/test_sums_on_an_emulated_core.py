"""Two sums of products, emulated on a tensor core, shared the arrays that their operands meet in.

Arrays in local memory were named after the axes that a sum closes, and the sums of a kernel close
the same: each multiplied what another had left there.
"""

from dataclasses import replace

import numpy as np
import pytest

from compiler import compile_kernel
from compiler.backends.reference import evaluate, numpy_dtype
from compiler.errors import IllegalOptError
from compiler.ir import ARRAYS, CORES, Op, toposort
from compiler.kernel import parse_opts
from tests.kernel.products import sums, target_of

SIZE = 21  # no multiple of any tile: rows, columns and terms are padded, too
STRIDES = ((SIZE, 0, 1), (0, 1, SIZE))
CASES = pytest.mark.parametrize("core", CORES, ids=lambda core: core.name)


def emulated(core, count, more="", target=None):
    """The stages of `count` sums on an emulated core."""
    opts = parse_opts(f"TC {core.name} g1 g0 r0 2 3{more}")
    ast = sums(core, SIZE, *[STRIDES] * count)
    return ast, compile_kernel(ast, target or target_of(core), opts=opts).stages


def numbers(ast):
    random = np.random.default_rng(3)
    inputs = [node for node in toposort(ast) if node.op in ARRAYS and node.attr[0] > 0]
    return {
        node.attr[0]: random.integers(0, 4, node.attr[1]).astype(numpy_dtype(node.dtype))
        for node in inputs
    }


def local_bytes(stage):
    arrays = [node for node in toposort(stage.node) if node.op is Op.LOCAL]
    return sum([node.attr[1] * node.dtype.itemsize for node in arrays])


@CASES
@pytest.mark.parametrize("count", [2, 3])
def test_every_sum_adds_up_its_own_products(core, count):
    ast, stages = emulated(core, count)
    data = numbers(ast)
    assert np.array_equal(evaluate(stages[-1].node, data)[0], evaluate(ast, data)[0])


@CASES
def test_so_it_does_under_other_opts(core):
    left = "r0" if core.size("k") == 1 else "r0.o"
    more = f"; PADTO {left} 4; UNROLL {left} 2" + "; PADTO g0.o 4; LOCAL g0.o 2" * (core.items > 1)
    ast, stages = emulated(core, 2, more)
    data = numbers(ast)
    assert np.array_equal(evaluate(stages[-1].node, data)[0], evaluate(ast, data)[0])


@CASES
def test_every_sum_counts_as_local_memory(core):
    base, (one, two) = target_of(core), [local_bytes(emulated(core, n)[1][0]) for n in (1, 2)]
    assert two == 2 * one
    enough = replace(base, capabilities=replace(base.capabilities, shared_bytes=two))
    emulated(core, 2, target=enough)
    short = replace(base, capabilities=replace(base.capabilities, shared_bytes=two - 1))
    with pytest.raises(IllegalOptError, match=f"needs {two} bytes of local memory"):
        emulated(core, 2, target=short)
