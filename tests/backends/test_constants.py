"""Constants in generated source: extremes, infinities, NaN, and floats that are hard to print."""

import math

import numpy as np
import pytest

from compiler.backends.llvm.types import literal as llvm_literal
from compiler.backends.opencl.render import WITHOUT_HALF
from compiler.ir import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    Op,
)

INTEGERS = (INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64)
FLOAT_VALUES = (
    0.0, -0.0, 1.0, -1.5, 0.1, 1 / 3, math.inf, -math.inf, math.nan, 16777217.0, 65504.0, 6e-8,
    3.4028234663852886e38, 1.1754943508222875e-38, 1.401298464324817e-45, 1e308, 5e-324, 1e-310,
    123456.789, 2.0**63,
)  # fmt: skip


def constants_of(dtype):
    if dtype is BOOL:
        return [False, True]
    if dtype.is_float:
        return list(FLOAT_VALUES)
    low, high = int(dtype.lowest), int(dtype.highest)
    return [low, low + 1, 0, 1, high // 2, high // 2 + 1, high - 1, high, -1 if low else 200]


@pytest.mark.parametrize("lanes", [1, 2])
def test_every_constant_arrives_exactly(runner, code, same_bits, lanes):
    """All constants of all dtypes, stored by one kernel; scalars or vectors of two."""
    scalars = [BOOL] if lanes == 1 else []
    scalars += [*INTEGERS, FLOAT32, FLOAT64]
    expected = []
    with np.errstate(over="ignore"):
        for slot, dtype in enumerate(scalars):
            values = constants_of(dtype)
            buffer = code.buffer(slot, dtype, len(values) * lanes)
            for position, value in enumerate(values):
                offset = code.const(INT64, position * lanes)
                code.write(buffer, offset, code.const(dtype.vec(lanes), value))
            stored = np.array(values, np.float64 if dtype.is_float else object)
            expected.append(np.repeat(stored.astype(dtype.name), lanes))
    for result, wanted in zip(runner.run(code.program(), {}), expected, strict=True):
        same_bits(result, wanted)


def test_operands_that_are_extreme_constants_keep_their_dtype(runner, code, same_bits):
    """Where C takes -2147483648 for a long, ull for 128 bits, and a u8 product for an int."""
    x = np.array([-5, -7, -(2**31), 1 - 2**31, 0, 3, 2**31 - 1, -9], np.int32)
    u = np.array([1, 2**31 - 1, 2**31, 2**31 + 1, 0, 5, 2**32 - 1, 7], np.uint32)
    v = np.array([0, 2**63, 2**63 + 1, 2**64 - 1, 1, 2, 3, 4], np.uint64)
    w = np.array([200, 255, 1, 128, 3, 4, 5, 250], np.uint8)
    index, close = runner.index(code, 8)
    a, b, c, d = [
        code.read(code.buffer(5 + slot, dtype, 8), index)
        for slot, dtype in enumerate((INT32, UINT32, UINT64, UINT8))
    ]
    code.write(
        code.buffer(0, INT32, 8), index, code.emit(Op.MAX, INT32, (a, code.const(INT32, -(2**31))))
    )
    code.write(code.buffer(1, BOOL, 8), index, code.compare(Op.LT, code.const(UINT32, 2**31), b))
    flipped = code.emit(Op.XOR, UINT64, (c, code.const(UINT64, 2**64 - 1)))
    code.write(
        code.buffer(2, BOOL, 8), index, code.compare(Op.EQ, flipped, code.const(UINT64, 2**64 - 1))
    )
    successor = code.emit(Op.ADD, UINT64, (c, code.const(UINT64, 1)))
    code.write(
        code.buffer(3, BOOL, 8), index, code.compare(Op.EQ, successor, code.const(UINT64, 0))
    )
    doubled = code.emit(Op.ADD, UINT8, (d, d))
    code.write(code.buffer(4, BOOL, 8), index, code.compare(Op.LT, doubled, d))
    close()
    results = runner.run(code.program(), {5: x, 6: u, 7: v, 8: w})
    expected = [x, u > 2**31, v == 0, v == 2**64 - 1, w + w < w]
    for result, wanted in zip(results, expected, strict=False):
        same_bits(result, wanted)


@pytest.mark.parametrize(
    ("dtype", "value", "text"),
    [
        (INT32, -(2**31), "(-2147483647-1)"),
        (INT64, -(2**63), "(-9223372036854775807L-1)"),
        (UINT64, 2**64 - 1, "18446744073709551615UL"),
        (INT8, -128, "(-128)"),
        (FLOAT32, 1.5, "1.5f"),
        (FLOAT32, -math.inf, "(-INFINITY)"),
        (FLOAT32, math.nan, "as_float(0x7fc00000u)"),
        (FLOAT32, 0.10000000149011612, "0x1.99999ap-4f"),
        (FLOAT64, 0.1, "0.1"),
        (FLOAT64, 1e308, "0x1.1ccf385ebc8ap+1023"),
        (FLOAT64, math.inf, "((double)(INFINITY))"),
        (FLOAT16, 1.0, "15360"),
        (BFLOAT16, 1.0, "16256"),
    ],
)
def test_opencl_spells_a_constant(dtype, value, text):
    assert WITHOUT_HALF.literal(dtype, value) == text


@pytest.mark.parametrize(
    ("dtype", "value", "text"),
    [
        (FLOAT32, math.inf, "0x7FF0000000000000"),
        (FLOAT32, -math.nan, "0x7FF8000000000000"),
        (FLOAT32, 0.10000000149011612, "0x3FB99999A0000000"),
        (FLOAT64, -0.0, "0x8000000000000000"),
        (FLOAT16, 1.0, "0xH3C00"),
        (FLOAT16, math.nan, "0xH7E00"),
        (BFLOAT16, 1.0, "0xR3F80"),
        (INT64, -(2**63), "-9223372036854775808"),
        (BOOL, True, "true"),
    ],
)
def test_llvm_spells_a_constant(dtype, value, text):
    assert llvm_literal(dtype, value) == text
