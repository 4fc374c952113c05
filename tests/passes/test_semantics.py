"""Every op on the values where backends disagree: each stage gives the bits that the AST gives."""

from itertools import product

import numpy as np
import pass_checks as k
import pytest

from compiler.ir import (
    BFLOAT16,
    BOOL,
    COMPARISONS,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    SCALARS,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    VOID,
    Kind,
    Op,
    View,
    ViewStack,
    const,
    intern,
    print_node,
)
from compiler.target import LLVM, OPENCL, find_target

INTS = (INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64)
FLOATS = (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)
SPECIAL = (
    0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.999, 127.5, 128.0, -128.5, -129.0, 255.9, 256.0,
    65504.0, 65519.9, 65520.0, 2.0**31, -(2.0**31), 2.0**31 + 4096, 2.0**32, 2.0**63, -(2.0**63),
    2.0**64, 1e30, -1e30, 1e300, 6e-8, 2.0**-24, 2.0**-25, 3 * 2.0**-26, 2.0**-14, 2.0**-130,
    1e-310, 2049.0, 2051.0, 257.0, 259.0, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-8 + 2.0**-40,
    float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
UNARY_FLOAT = (Op.NEG, Op.SQRT, Op.TRUNC, Op.FLOOR, Op.CEIL, Op.RINT)
BINARY_FLOAT = (Op.ADD, Op.SUB, Op.MUL, Op.FDIV, Op.MAX, Op.MIN, *sorted(COMPARISONS, key=str))
BINARY_INT = (
    Op.ADD, Op.SUB, Op.MUL, Op.IDIV, Op.MOD, Op.MAX, Op.MIN, Op.AND, Op.OR, Op.XOR, Op.SHL, Op.SHR,
    *sorted(COMPARISONS, key=str),
)  # fmt: skip
BINARY_BOOL = (Op.MAX, Op.MIN, Op.AND, Op.OR, Op.XOR, *sorted(COMPARISONS, key=str))
HALF_MATH = find_target("opencl/amd")  # computes with float16
TARGETS = pytest.mark.parametrize("target", [LLVM, OPENCL], ids=["llvm", "opencl"])


def values(dtype):
    """Numbers of a dtype that are easy to get wrong, as the reference takes them."""
    if dtype is BOOL:
        return np.array([False, True])
    if dtype.is_int:
        low, high = int(dtype.lowest), int(dtype.highest)
        wanted = [low, low + 1, -2, -1, 0, 1, 2, 3, 7, dtype.bits - 1, dtype.bits, high - 1, high]
        return np.array([v for v in wanted if low <= v <= high], dtype.name)
    with np.errstate(all="ignore"):
        if dtype is BFLOAT16:
            wide = np.array(SPECIAL, np.float32)
            wide = wide[~np.isnan(wide)]
            return np.concatenate([(wide.view(np.uint32) >> 16).astype(np.uint16), [0x7FC0]])
        return np.array(SPECIAL, dtype.name)


def elementwise(op, dtype, out, sources, attr=()):
    """A kernel that applies `op` to every combination of the sources' special values."""
    columns = [
        np.array(column) for column in zip(*product(*[values(s) for s in sources]), strict=True)
    ]
    size = -(-len(columns[0]) // 4) * 4  # to be cut into vectors of four
    buffers = {0: np.zeros(size, _storage(out))}
    loads = []
    stack = ViewStack((View((size,), (1,)),))
    for slot, (source, column) in enumerate(zip(sources, columns, strict=True), 1):
        buffers[slot] = np.resize(column, size).astype(_storage(source))
        buffer = intern(Op.BUFFER, source, (), (slot, size))
        loads.append(intern(Op.LOAD, source, (buffer,), (stack,)))
    value = intern(op, dtype, tuple(loads), attr)
    if dtype is not out:
        value = intern(Op.CAST, out, (value,))
    output = intern(Op.BUFFER, out, (), (0, size))
    store = intern(Op.STORE, VOID, (output, value), (stack,))
    return intern(Op.SINK, VOID, (store,), ((("g0", size),),)), buffers


def _storage(dtype):
    return "uint16" if dtype is BFLOAT16 else dtype.name


def assert_same_bits(root, buffers, target):
    """Every stage, scalar and in vectors, gives the bits of the AST; all NaNs are one value."""
    out = next(node.dtype for node in root.src[0].src[:1])
    wanted = canonical(k.outputs(root, buffers)[0], out)
    text = print_node(root).removeprefix("ir 1")
    for opts in ("", "UPCAST g0 4"):
        before = None
        for name, node in k.stages(text, opts, target).items():
            if node is before:
                continue
            before = node
            found = canonical(k.outputs(node, buffers)[0], out)
            where = f"after {name} with {opts!r}"
            np.testing.assert_array_equal(found, wanted, where)


def canonical(array, dtype):
    """Bits, with one NaN."""
    if dtype is BFLOAT16:
        return np.where((array & 0x7FFF) > 0x7F80, 0x7FC0, array)
    if not dtype.is_float:
        return array
    array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return array.view(f"u{array.dtype.itemsize}")


@TARGETS
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", UNARY_FLOAT, ids=lambda op: op.name)
def test_unary_float_ops_keep_every_bit(op, dtype, target):
    assert_same_bits(*elementwise(op, dtype, dtype, [dtype]), target)


@TARGETS
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", BINARY_FLOAT, ids=lambda op: op.name)
def test_binary_float_ops_keep_every_bit(op, dtype, target):
    out = BOOL if op in COMPARISONS else dtype
    assert_same_bits(*elementwise(op, out, out, [dtype, dtype]), target)


@TARGETS
@pytest.mark.parametrize("dtype", INTS, ids=str)
@pytest.mark.parametrize("op", BINARY_INT, ids=lambda op: op.name)
def test_binary_integer_ops_are_defined_everywhere(op, dtype, target):
    out = BOOL if op in COMPARISONS else dtype
    assert_same_bits(*elementwise(op, out, out, [dtype, dtype]), target)


@TARGETS
@pytest.mark.parametrize("op", [Op.NEG, Op.NOT], ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_unary_integer_ops_wrap(op, dtype, target):
    assert_same_bits(*elementwise(op, dtype, dtype, [dtype]), target)


@TARGETS
@pytest.mark.parametrize("op", BINARY_BOOL, ids=lambda op: op.name)
def test_bools_are_ordered_false_before_true(op, target):
    assert_same_bits(*elementwise(op, BOOL, BOOL, [BOOL, BOOL]), target)


@TARGETS
@pytest.mark.parametrize("out", [d for d in SCALARS if d.kind is not Kind.VOID], ids=str)
@pytest.mark.parametrize("dtype", [d for d in SCALARS if d.kind is not Kind.VOID], ids=str)
def test_casts_saturate_wrap_and_round_once(dtype, out, target):
    assert_same_bits(*elementwise(Op.CAST, out, out, [dtype]), target)


@TARGETS
@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=str)
def test_a_fused_multiply_add_of_halves_rounds_once(dtype, target):
    root, buffers = elementwise(Op.MULACC, dtype, dtype, [dtype, dtype, dtype])
    assert_same_bits(root, buffers, target)


@TARGETS
@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=str)
def test_bits_of_halves_survive_a_bitcast(dtype, target):
    for source, out in ((dtype, UINT16), (UINT16, dtype), (dtype, INT16)):
        assert_same_bits(*elementwise(Op.BITCAST, out, out, [source]), target)


@TARGETS
@pytest.mark.parametrize("dtype", [INT32, INT8, UINT32], ids=str)
@pytest.mark.parametrize("divisor", [0, 1, -1, 3, -3])
@pytest.mark.parametrize("op", [Op.IDIV, Op.MOD], ids=lambda op: op.name)
def test_division_by_a_constant_is_defined(op, divisor, dtype, target):
    root, buffers = elementwise(Op.NOT, dtype, dtype, [dtype])
    value = intern(op, dtype, (root.src[0].src[1].src[0], const(dtype, divisor)))
    store = intern(Op.STORE, VOID, (root.src[0].src[0], value), root.src[0].attr)
    assert_same_bits(intern(Op.SINK, VOID, (store,), root.attr), buffers, target)


@TARGETS
@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=str)
def test_a_sum_of_halves_rounds_after_every_step(dtype, target):
    """1 + 2**-11 + 2**-11 + ... stays 1, where float32 would add up."""
    size = 33
    buffer = intern(Op.BUFFER, dtype, (), (1, size))
    load = intern(Op.LOAD, dtype, (buffer,), (ViewStack((View((size,), (1,)),)),))
    total = intern(Op.REDUCE, dtype, (load,), (Op.ADD, ("r0",)))
    output = intern(Op.BUFFER, dtype, (), (0, 1))
    store = intern(Op.STORE, VOID, (output, total), (ViewStack((View((size,), (0,)),)),))
    root = intern(Op.SINK, VOID, (store,), ((("r0", size),),))
    one, tiny = (0x3C00, 0x1000) if dtype is FLOAT16 else (0x3F80, 0x3B00)
    bits = np.array([one] + [tiny] * (size - 1), np.uint16)
    text = print_node(root).removeprefix("ir 1")
    for name, node in k.stages(text, "", target).items():
        buffers = {0: np.zeros(1, np.uint16), 1: bits}
        if dtype is FLOAT16:
            buffers = {slot: array.view(np.float16) for slot, array in buffers.items()}
        found = k.outputs(node, buffers)[0].view(np.uint16)
        assert found[0] == one, name


@TARGETS
def test_a_copy_of_halves_only_moves_bits(target):
    root, _ = elementwise(Op.NEG, FLOAT16, FLOAT16, [FLOAT16])
    store = intern(
        Op.STORE, VOID, (root.src[0].src[0], root.src[0].src[1].src[0]), root.src[0].attr
    )
    text = print_node(intern(Op.SINK, VOID, (store,), root.attr)).removeprefix("ir 1")
    program = k.stages(text, "", target)["linearize"]
    assert not {Op.CAST, Op.WHERE, Op.SHL} & set(k.ops(program))


def test_a_target_without_halves_only_sees_their_bits():
    root, _ = elementwise(Op.ADD, FLOAT16, FLOAT16, [FLOAT16, FLOAT16])
    text = print_node(root).removeprefix("ir 1")
    program = k.stages(text, "UPCAST g0 4", OPENCL)["linearize"]
    assert not any(node.dtype.scalar in (FLOAT16, BFLOAT16) for node in program.src)


@pytest.mark.parametrize("op", [*UNARY_FLOAT, *BINARY_FLOAT], ids=lambda op: op.name)
def test_arithmetic_of_the_target_on_halves_keeps_every_bit(op):
    out = BOOL if op in COMPARISONS else FLOAT16
    sources = [FLOAT16] if op in UNARY_FLOAT else [FLOAT16, FLOAT16]
    assert_same_bits(*elementwise(op, out, out, sources), HALF_MATH)


@pytest.mark.parametrize("other", [d for d in SCALARS if d.kind is not Kind.VOID], ids=str)
def test_a_target_that_computes_with_halves_converts_as_others_do(other):
    assert_same_bits(*elementwise(Op.CAST, other, other, [FLOAT16]), HALF_MATH)
    assert_same_bits(*elementwise(Op.CAST, FLOAT16, FLOAT16, [other]), HALF_MATH)


def test_a_target_that_computes_with_halves_fuses_and_moves_their_bits():
    assert_same_bits(*elementwise(Op.MULACC, FLOAT16, FLOAT16, [FLOAT16] * 3), HALF_MATH)
    for source, out in ((FLOAT16, UINT16), (UINT16, FLOAT16), (FLOAT16, BFLOAT16)):
        assert_same_bits(*elementwise(Op.BITCAST, out, out, [source]), HALF_MATH)
