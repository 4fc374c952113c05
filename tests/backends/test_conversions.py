"""Casts and bitcasts between all dtypes a device has, on the values that a PROGRAM may hold."""

import numpy as np
import pytest

from compiler.errors import BuildError
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
ALL = (BOOL, *INTEGERS, FLOAT32, FLOAT64)
SIZE = 32


def of(dtype):
    return np.dtype(dtype.name)


def values(source, target):
    """Values of `source`; floats to be truncated lie inside the integer dtype `target`."""
    rng = np.random.default_rng(7)
    if source is BOOL:
        return rng.integers(0, 2, SIZE).astype(bool)
    if not source.is_float:
        low, high = int(source.lowest), int(source.highest)
        return rng.integers(low, high, SIZE, of(source), endpoint=True)
    if target.is_int:
        low, high = int(target.lowest), int(target.highest) // 2
        inside = rng.uniform(low / 2, high, SIZE).astype(of(source))
        inside[:4] = [0.0, -0.0, 0.99, 0 if low == 0 else -0.99]
        return inside
    special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-45, 3.4028235677973366e38, 1e-310, 0.1]
    rest = rng.standard_normal(SIZE - len(special))
    with np.errstate(over="ignore"):
        return np.concatenate([special, rest]).astype(of(source))


def check(runner, code, same_bits, source, targets, lanes):
    index, close = runner.index(code, SIZE // lanes)
    offset = code.emit(Op.MUL, index.dtype, (index, code.const(index.dtype, lanes)))
    inputs = {len(targets) + slot: values(source, target) for slot, target in enumerate(targets)}
    for slot, target in enumerate(targets):
        x = code.read(code.buffer(len(targets) + slot, source, SIZE), offset, lanes)
        value = code.emit(Op.CAST, target.vec(lanes), (x,))
        code.write(code.buffer(slot, target, SIZE), offset, value)
    close()
    results = runner.run(code.program(), inputs)
    with np.errstate(all="ignore"):
        for slot, target in enumerate(targets):
            expected = inputs[len(targets) + slot].astype(of(target))
            same_bits(results[slot], expected, f"{source} to {target}")


@pytest.mark.parametrize("source", ALL, ids=str)
def test_casts_of_scalars_are_those_of_numpy(runner, code, same_bits, source):
    check(runner, code, same_bits, source, ALL, lanes=1)


@pytest.mark.parametrize("source", [INT8, UINT16, INT32, UINT64, FLOAT32, FLOAT64], ids=str)
def test_casts_of_vectors_are_those_of_numpy(runner, code, same_bits, source):
    check(runner, code, same_bits, source, (*INTEGERS, FLOAT32, FLOAT64), lanes=4)


def test_llvm_rounds_once_to_float16(llvm, code, same_bits):
    check(llvm, code, same_bits, FLOAT32, (FLOAT16,), lanes=1)
    check(llvm, type(code)(), same_bits, INT16, (FLOAT16,), lanes=4)
    check(llvm, type(code)(), same_bits, FLOAT16, (FLOAT32, FLOAT64, BOOL), lanes=1)


PAIRS = [(INT32, FLOAT32), (UINT32, INT32), (FLOAT64, UINT64), (INT64, FLOAT64), (INT8, UINT8),
         (UINT16, INT16), (INT16, UINT16)]  # fmt: skip


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_bitcast_keeps_every_bit(runner, code, lanes):
    index, close = runner.index(code, SIZE // lanes)
    offset = code.emit(Op.MUL, index.dtype, (index, code.const(index.dtype, lanes)))
    inputs = {len(PAIRS) + slot: values(source, source) for slot, (source, _) in enumerate(PAIRS)}
    for slot, (source, target) in enumerate(PAIRS):
        x = code.read(code.buffer(len(PAIRS) + slot, source, SIZE), offset, lanes)
        value = code.emit(Op.BITCAST, target.vec(lanes), (x,))
        code.write(code.buffer(slot, target, SIZE), offset, value)
    close()
    results = runner.run(code.program(), inputs)
    for slot in range(len(PAIRS)):
        assert results[slot].tobytes() == inputs[len(PAIRS) + slot].tobytes()


@pytest.mark.parametrize("dtype", [BFLOAT16, FLOAT16], ids=str)
def test_sixteen_bit_floats_move_and_bitcast_without_the_device_knowing_them(runner, code, dtype):
    """Where a device cannot compute with them, the passes see their bits only."""
    bits = np.arange(0, 0x10000, 0x10000 // SIZE).astype(np.uint16)
    index, close = runner.index(code, SIZE)
    x = code.read(code.buffer(1, dtype, SIZE), index)
    raw = code.emit(Op.BITCAST, UINT16, (x,))
    flipped = code.emit(Op.XOR, UINT16, (raw, code.const(UINT16, 0x8000)))
    code.write(code.buffer(0, dtype, SIZE), index, code.emit(Op.BITCAST, dtype, (flipped,)))
    close()
    stored = bits if dtype is BFLOAT16 else bits.view(np.float16)
    result = runner.run(code.program(), {1: stored})[0]
    assert (result.view(np.uint16) == bits ^ 0x8000).all()


@pytest.mark.parametrize("source", [FLOAT64, INT64, UINT64], ids=str)
def test_llvm_refuses_a_cast_to_float16_that_would_need_a_library(llvm, code, source):
    x = code.read(code.buffer(1, source, 1), code.const(INT32, 0))
    value = code.emit(Op.CAST, FLOAT16, (x,))
    code.write(code.buffer(0, FLOAT16, 1), code.const(INT32, 0), value)
    with pytest.raises(BuildError, match=f"kernel k: .*{source} to float16"):
        llvm.program(code.program())


@pytest.mark.parametrize("op", [Op.ADD, Op.FDIV, Op.SQRT, Op.MAX])
def test_arithmetic_in_bfloat16_is_refused_by_name(runner, code, op):
    x = code.read(code.buffer(1, BFLOAT16, 1), code.const(INT32, 0))
    value = code.emit(op, BFLOAT16, (x,) if op is Op.SQRT else (x, x))
    code.write(code.buffer(0, BFLOAT16, 1), code.const(INT32, 0), value)
    with pytest.raises(BuildError, match=f"kernel k: .*{op.name} bfloat16.*: bfloat16"):
        runner.program(code.program())
