"""What the decompositions of transcendental functions are made of."""

import subprocess
import sys
from pathlib import Path

import pytest
from transcendental_samples import FUNCTIONS, decomposed, evaluate

from compiler.ir import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    Op,
    bounds,
    const,
    intern,
    toposort,
    why_malformed,
)  # fmt: skip
from compiler.rules import DECOMPOSITIONS, Builder
from compiler.rules.transcendental import coefficients

IEEE_OPS = frozenset((
    *(Op.ADD, Op.SUB, Op.MUL, Op.FDIV, Op.SQRT, Op.MULACC, Op.NEG, Op.RINT, Op.CONST, Op.CAST),
    *(Op.BITCAST, Op.LT, Op.LE, Op.EQ, Op.NE, Op.WHERE, Op.AND, Op.OR, Op.XOR, Op.NOT),
    *(Op.SHL, Op.SHR),
))  # fmt: skip
MAX_NODES = {  # constants not counted
    (Op.EXP2, FLOAT32): 22,
    (Op.EXP2, FLOAT64): 28,
    (Op.LOG2, FLOAT32): 49,
    (Op.LOG2, FLOAT64): 57,
    (Op.SIN, FLOAT32): 104,
    (Op.SIN, FLOAT64): 189,
    (Op.COS, FLOAT32): 101,
    (Op.COS, FLOAT64): 186,
    (Op.TAN, FLOAT32): 116,
    (Op.TAN, FLOAT64): 205,
    (Op.TANH, FLOAT32): 46,
    (Op.TANH, FLOAT64): 66,
    (Op.ERF, FLOAT32): 53,
    (Op.ERF, FLOAT64): 91,
    (Op.POW, FLOAT32): 151,
    (Op.POW, FLOAT64): 167,
}
each_function = pytest.mark.parametrize(("op", "dtype"), FUNCTIONS, ids=str)


@each_function
def test_the_number_of_nodes_is_what_is_stated(op, dtype):
    _, root = decomposed(op, dtype)
    counted = [node for node in toposort(root) if node.op not in (Op.CONST, Op.ACC)]
    assert len(counted) <= MAX_NODES[op, dtype]


@each_function
def test_only_operations_that_every_backend_computes_alike_are_used(op, dtype):
    arguments, root = decomposed(op, dtype)
    assert {node.op for node in toposort(root) if node not in arguments} <= IEEE_OPS


@each_function
def test_float32_needs_no_float64(op, dtype):
    _, root = decomposed(op, dtype)
    assert {node.dtype for node in toposort(root) if node.dtype.is_float} == {dtype}


@each_function
def test_every_node_is_well_formed(op, dtype):
    _, root = decomposed(op, dtype)
    assert [why_malformed(node) for node in toposort(root) if why_malformed(node)] == []


@each_function
def test_no_shift_needs_a_guard(op, dtype):
    _, root = decomposed(op, dtype)
    shifts = [node for node in toposort(root) if node.op in (Op.SHL, Op.SHR)]
    assert all(
        0 <= bounds(node.src[1])[0] <= bounds(node.src[1])[1] < node.dtype.bits for node in shifts
    )


@each_function
def test_no_float_is_cast_to_an_integer(op, dtype):
    _, root = decomposed(op, dtype)
    casts = [node for node in toposort(root) if node.op is Op.CAST and node.src[0].dtype.is_float]
    assert casts == []


@pytest.mark.parametrize("op", DECOMPOSITIONS)
@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=str)
def test_sixteen_bit_floats_are_computed_in_float32(op, dtype):
    arguments, root = decomposed(op, dtype)
    inner = [node for node in toposort(root) if node not in arguments and node is not root]
    assert root.op is Op.CAST
    assert not any(node.dtype is dtype for node in inner)


@pytest.mark.parametrize("op", DECOMPOSITIONS)
def test_vectors_are_decomposed_lane_by_lane(op):
    _, root = decomposed(op, FLOAT32.vec(4))
    assert [why_malformed(node) for node in toposort(root) if why_malformed(node)] == []
    assert {node.dtype.count for node in toposort(root) if node.op is not Op.CONST} == {4}
    assert BOOL.vec(4) in {node.dtype for node in toposort(root)}


@each_function
@pytest.mark.parametrize("value", [0.0, -0.0, 0.3, 2.75, 1e-40, -1.5, 1e22, float("inf")])
def test_a_constant_folds_to_the_bits_that_are_computed_at_run_time(op, dtype, value):
    values = [value, 2.0] if op is Op.POW else [value]
    node = intern(op, dtype, tuple(const(dtype, value) for value in values))
    folded = DECOMPOSITIONS[op](Builder(), node)
    computed = const(dtype, float(evaluate(op, dtype, *[[value] for value in values])[0]))
    assert folded is computed


@pytest.mark.slow
def test_the_coefficients_are_what_the_generator_prints():
    script = Path(__file__).with_name("generate_coefficients.py")
    printed = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert Path(coefficients.__file__).read_text() == printed.stdout
