"""A symbolic reduce axis may be empty: the result is the identity, and it is stored.

The reference took every view of such a domain for empty, those of results included, and judged a
right kernel to write where it must not.
"""

import numpy as np
import pytest

from compiler import compile_kernel, open_device, parse_node
from compiler.backends.reference import evaluate, evaluate_with_bound

KERNEL = """ir 1
%0 = BUFFER float32 slot=0 size=4
%1 = VAR int64 name=n lo=1 hi=9
%2 = CONST int64 value=4 view=none
%3 = MUL int64 %1 %2
%4 = BUFFER float32 slot=1 size=%3
%5 = CONST int64 value=-1 view=none
%6 = ADD int64 %1 %5
%7 = LOAD float32 %4 view=[(4,%6):(1,4)+4]
%8 = REDUCE float32 %7 op=ADD axes=(r0)
%9 = BUFFER float32 slot=2 size=4
%10 = LOAD float32 %9 view=[(4,%6):(1,0)]
%11 = CONST float32 value=0x1.8000000000000p+1 view=[(4,%6):(0,0)?(1:4,0:%6)]
%12 = ADD float32 %10 %11
%13 = ADD float32 %8 %12
%14 = STORE void %0 %13 view=[(4,%6):(1,0)]
%15 = SINK void %14 axes=(g0:4,r0:%6)
"""


def buffers(n):
    rows = np.arange(4 * n, dtype=np.float32)
    return {0: np.full(4, 7, np.float32), 1: rows, 2: np.arange(4, dtype=np.float32)}


def wanted(n):
    rows = buffers(n)[1].reshape(n, 4)
    return rows[1:].sum(0) + np.arange(4) + [0, 3, 3, 3]


@pytest.mark.parametrize("n", [1, 2, 9])
def test_the_reference_stores_the_identity(n):
    ast = parse_node(KERNEL)
    assert np.array_equal(evaluate(ast, buffers(n), {"n": n})[0], wanted(n))
    bound = evaluate_with_bound(ast, buffers(n), {"n": n})[0]
    assert bound.written.all()
    assert np.array_equal(bound.value, wanted(n))


@pytest.mark.parametrize("n", [1, 2, 9])
def test_a_device_does_the_same(n):
    device = open_device("llvm")
    executable = device.build(compile_kernel(parse_node(KERNEL), device.target).program)
    given = [buffer.copy() for _, buffer in sorted(buffers(n).items())]
    held = [device.wrap(array, parse_node(KERNEL).src[0].src[0].dtype) for array in given]
    executable(held, {"n": n})
    assert np.array_equal(device.download(held[0]), wanted(n))
