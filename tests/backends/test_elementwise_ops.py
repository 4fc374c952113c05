"""Every op of every dtype on special values, against NumPy, as scalars and as vectors."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from compiler.ir import (
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
    parse_dtype,
)  # fmt: skip

INTEGERS = (INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64)
FLOATS = (FLOAT32, FLOAT64)
COMPARISONS = {Op.LT: np.less, Op.LE: np.less_equal, Op.EQ: np.equal, Op.NE: np.not_equal}
SIZE = 64


def of(dtype):
    return np.dtype(dtype.name)


def values(dtype, seed=0):
    """SIZE values: all the special ones, then random ones."""
    rng = np.random.default_rng(seed)
    if dtype is BOOL:
        return rng.integers(0, 2, SIZE).astype(bool)
    if dtype.is_float:
        info = np.finfo(of(dtype))
        special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny]
        special += [info.smallest_subnormal, -info.smallest_subnormal, 0.1, 2.5, -2.5, 3.5, 1e4]
        special = np.array(special, of(dtype))
        rest = (rng.standard_normal(SIZE - len(special)) * 100).astype(of(dtype))
        return rng.permutation(np.concatenate([special, rest]))
    low, high = int(dtype.lowest), int(dtype.highest)
    special = [low, low + 1, 0, 1, 2, 7, high // 2, high - 1, high]
    rest = rng.integers(low, high, SIZE - len(special), of(dtype), endpoint=True)
    return rng.permutation(np.concatenate([np.array(special, of(dtype)), rest]))


def as_divisors(b):
    """`b` without 0 and -1: the passes leave no division that could trap."""
    unsafe = (b == 0) | (b == -1 if b.dtype.kind == "i" else False)
    return np.where(unsafe, b.dtype.type(3), b)


def truncated(a, b):
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    return np.array(
        [abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1) for x, y in pairs], a.dtype
    )


def extreme(beats):
    return lambda a, b: np.where(beats(a, b) | (a != a), a, b)


def fused(a, b, c):
    """a * b + c rounded once, of finite float32: the exact sum picks among three neighbours."""
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    near = np.float32(float(exact))
    with np.errstate(all="ignore"):
        around = [np.nextafter(near, np.float32(side)) for side in (-np.inf, np.inf)]
    return min([near, *around], key=lambda x: abs(Fraction(float(x)) - exact))


@dataclass(frozen=True)
class Case:
    op: Op
    operands: tuple[np.ndarray, ...]
    expected: np.ndarray


def cases_of(dtype):
    """Every op on sources of `dtype` that a PROGRAM may hold."""
    a, b, chosen = values(dtype, 1), values(dtype, 2), values(BOOL, 3)
    near = np.where(chosen, a, b)
    with np.errstate(all="ignore"):
        cases = [Case(op, (a, near), function(a, near)) for op, function in COMPARISONS.items()]
        cases.append(Case(Op.WHERE, (chosen, a, b), np.where(chosen, a, b)))
        cases += [
            Case(op, operands, function(*operands))
            for op, (function, *operands) in table_of(dtype, a, b).items()
        ]
    return cases


def table_of(dtype, a, b):
    table = {Op.MAX: (extreme(np.greater), a, b), Op.MIN: (extreme(np.less), a, b)}
    if not dtype.is_float:
        table |= {
            Op.AND: (np.bitwise_and, a, b),
            Op.OR: (np.bitwise_or, a, b),
            Op.XOR: (np.bitwise_xor, a, b),
            Op.NOT: (np.invert, a),
        }
    if dtype is BOOL:
        return table
    table |= {
        Op.ADD: (np.add, a, b),
        Op.SUB: (np.subtract, a, b),
        Op.MUL: (np.multiply, a, b),
        Op.NEG: (np.negative, a),
    }
    if dtype.is_float:
        return table | {
            Op.FDIV: (np.divide, a, b),
            Op.SQRT: (np.sqrt, a),
            Op.TRUNC: (np.trunc, a),
            Op.FLOOR: (np.floor, a),
            Op.CEIL: (np.ceil, a),
            Op.RINT: (np.rint, a),
        }
    divisors, amounts = as_divisors(b), b % b.dtype.type(dtype.bits)
    return table | {
        Op.IDIV: (truncated, a, divisors),
        Op.MOD: (lambda x, y: x - truncated(x, y) * y, a, divisors),
        Op.SHL: (np.left_shift, a, amounts),
        Op.SHR: (np.right_shift, a, amounts),
        Op.MULACC: (lambda x, y, z: x * y + z, a, b, a),
    }


def check(runner, code, same_bits, cases, dtype, lanes):
    """All cases in one kernel: PoCL takes a good part of a second for each."""
    index, close = runner.index(code, SIZE // lanes)
    offset = code.emit(Op.MUL, index.dtype, (index, code.const(index.dtype, lanes)))
    inputs = {}
    slots = {}
    for case in cases:
        for operand in case.operands:
            if id(operand) not in slots:
                slots[id(operand)] = len(cases) + len(slots)
                inputs[slots[id(operand)]] = operand
    loaded = {}
    for slot, operand in inputs.items():
        buffer = code.buffer(slot, parse_dtype(operand.dtype.name), SIZE)
        loaded[slot] = code.read(buffer, offset, lanes)
    for slot, case in enumerate(cases):
        kind = BOOL if case.op in COMPARISONS else dtype
        src = [loaded[slots[id(operand)]] for operand in case.operands]
        value = code.emit(case.op, kind.vec(lanes), src)
        code.write(code.buffer(slot, kind, SIZE), offset, value)
    close()
    results = runner.run(code.program(), inputs)
    for slot, case in enumerate(cases):
        same_bits(results[slot], case.expected, f"{case.op.name} {dtype}")


@pytest.mark.parametrize("dtype", [BOOL, *INTEGERS, *FLOATS], ids=str)
def test_ops_of_scalars_are_those_of_numpy(runner, code, same_bits, dtype):
    check(runner, code, same_bits, cases_of(dtype), dtype, lanes=1)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
def test_ops_of_vectors_are_those_of_numpy(runner, code, same_bits, dtype):
    cases = [case for case in cases_of(dtype) if case.op not in (*COMPARISONS, Op.WHERE)]
    check(runner, code, same_bits, cases, dtype, lanes=4)


@pytest.mark.parametrize("lanes", [2, 8, 16])
def test_vectors_of_every_width_compute_lane_by_lane(runner, code, same_bits, lanes):
    cases = [case for case in cases_of(FLOAT32) if case.op not in (*COMPARISONS, Op.WHERE)]
    check(runner, code, same_bits, cases, FLOAT32, lanes)


@pytest.mark.parametrize("dtype", [BOOL, INT32, UINT8, FLOAT64, FLOAT16], ids=str)
def test_llvm_compares_and_selects_whole_vectors(llvm, code, same_bits, dtype):
    check(llvm, code, same_bits, cases_of(dtype), dtype, lanes=8)


def test_llvm_computes_in_float16_with_one_rounding_an_op(llvm, code, same_bits):
    check(llvm, code, same_bits, cases_of(FLOAT16), FLOAT16, lanes=1)


@pytest.mark.parametrize("lanes", [1, 4])
def test_mulacc_of_floats_rounds_once(runner, code, same_bits, lanes):
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((2, SIZE)).astype(np.float32)
    c = (-a * b + rng.standard_normal(SIZE) * 1e-8).astype(np.float32)
    expected = np.array([fused(*row) for row in zip(a, b, c, strict=True)], np.float32)
    assert (expected != a * b + c).any()
    check(runner, code, same_bits, [Case(Op.MULACC, (a, b, c), expected)], FLOAT32, lanes)


def test_a_product_and_a_sum_are_never_fused(runner, code, same_bits):
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((2, SIZE)).astype(np.float32)
    c = (-a * b).astype(np.float32)
    index, close = runner.index(code, SIZE)
    x, y, z = [code.read(code.buffer(1 + i, FLOAT32, SIZE), index) for i in range(3)]
    product = code.emit(Op.MUL, FLOAT32, (x, y))
    total = code.emit(Op.ADD, FLOAT32, (product, z))
    code.write(code.buffer(0, FLOAT32, SIZE), index, total)
    close()
    same_bits(runner.run(code.program(), {1: a, 2: b, 3: c})[0], a * b + c)


@pytest.mark.parametrize("dtype", [INT8, UINT32, INT64, FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_shuffles_move_every_lane_and_change_no_bit(runner, code, same_bits, dtype, lanes):
    index, close = runner.index(code, SIZE // lanes)
    offset = code.emit(Op.MUL, index.dtype, (index, code.const(index.dtype, lanes)))
    inputs = {3: values(dtype, 1), 4: values(dtype, 2)}
    a, b = [code.read(code.buffer(slot, dtype, SIZE), offset, lanes) for slot in inputs]
    backwards, turns = (
        tuple(range(lanes))[::-1],
        tuple([n // 2 + lanes * (n % 2) for n in range(lanes)]),
    )
    halves = code.emit(Op.SHUFFLE, dtype.vec(lanes), (a, b), (turns,))
    code.write(code.buffer(0, dtype, SIZE), offset, halves)
    turned = code.emit(Op.SHUFFLE, dtype.vec(lanes), (a,), (backwards,))
    code.write(code.buffer(1, dtype, SIZE), offset, turned)
    first = code.emit(Op.LANE, dtype, (code.emit(Op.SHUFFLE, dtype.vec(2), (b,), ((1, 0),)),), (0,))
    code.write(code.buffer(2, dtype, SIZE), offset, first)
    close()
    results = runner.run(code.program(), inputs)
    rows = np.stack([inputs[3].reshape(-1, lanes), inputs[4].reshape(-1, lanes)])
    same_bits(results[0], np.concatenate(rows, axis=1)[:, turns].reshape(-1), "two sources")
    same_bits(results[1], rows[0][:, backwards].reshape(-1), "one source")
    same_bits(results[2][::lanes], rows[1][:, 1], "a pair")
