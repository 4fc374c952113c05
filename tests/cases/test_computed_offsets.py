"""INDEX and GATHER: offsets that are computed, on every backend, whatever the opts."""

import numpy as np
import pytest

from compiler import compile_kernel, find_target
from compiler.backends import open_device
from compiler.backends.reference import evaluate, evaluate_with_bound
from compiler.errors import DeviceError, ParseError, VerifyError
from compiler.ir import (
    FLOAT16,
    FLOAT32,
    INT8,
    INT32,
    INT64,
    VOID,
    DType,
    Op,
    Spec,
    View,
    ViewStack,
    const,
    intern,
    parse_node,
    print_node,
    toposort,
    verify,
)
from compiler.kernel import Unroll, Upcast
from tests.backends.reference.asts import by_hand

ROWS, COLUMNS, TABLE = 12, 8, 40


def picked(offset_dtype: DType = INT32, dtype: DType = FLOAT32, *, clamped=False, total=False):
    """out[i] = table[places[i, j] + offset of (i, j)], or the sum of it over j."""
    shape = (ROWS, COLUMNS)
    whole = ViewStack((View(shape, (COLUMNS, 1)),))
    masked = ViewStack((View(shape, (3, 1), 1, ((1, ROWS), (0, COLUMNS - 2))),))
    table = intern(Op.BUFFER, dtype, (), (1, TABLE))
    places = intern(Op.BUFFER, offset_dtype, (), (2, ROWS * COLUMNS))
    load = intern(Op.LOAD, offset_dtype, (places,), (whole,))
    offset = intern(Op.ADD, offset_dtype, (load, intern(Op.INDEX, offset_dtype, (), (masked,))))
    if clamped:
        offset = intern(Op.MAX, offset_dtype, (offset, const(offset_dtype, 0)))
        offset = intern(Op.MIN, offset_dtype, (offset, const(offset_dtype, TABLE - 1)))
    value = intern(Op.GATHER, dtype, (table, offset))
    names = ("g0", "r0" if total else "g1")
    if total:
        value = intern(Op.REDUCE, dtype, (value,), (Op.ADD, ("r0",)))
    out = intern(Op.BUFFER, dtype, (), (0, ROWS if total else ROWS * COLUMNS))
    view = ViewStack((View(shape, (1, 0) if total else (COLUMNS, 1)),))
    store = intern(Op.STORE, VOID, (out, value), (view,))
    return intern(Op.SINK, VOID, (store,), (tuple(zip(names, shape, strict=True)),))


def contents(ast):
    """Places from -3 to beyond the table."""
    generator = np.random.default_rng(5)
    table, places = sorted(_buffers(ast), key=lambda n: n.attr[0])[1:]
    return {
        1: generator.integers(1, 60, TABLE).astype(table.dtype.name),
        2: generator.integers(-3, TABLE + 3, ROWS * COLUMNS).astype(places.dtype.name),
    }


def _buffers(ast):
    return [node for node in toposort(ast) if node.op is Op.BUFFER]


def run(ast, backend, opts=None):
    device = open_device(backend)
    program = compile_kernel(ast, find_target(backend), opts=opts).program
    given, buffers = contents(ast), []
    for slot, argument in enumerate(program.arguments):
        buffer = device.allocate(argument.dtype, argument.size)
        if slot in given:
            device.upload(buffer, given[slot])
        buffers.append(buffer)
    device.build(program)(buffers, {})
    return device.download(buffers[0])


KERNELS = {
    "int32": lambda: picked(),
    "int64": lambda: picked(INT64),
    "clamped": lambda: picked(clamped=True),
    "half": lambda: picked(INT64, FLOAT16),
    "bytes": lambda: picked(INT32, INT8),
    "summed": lambda: picked(total=True),
}
OPTS = {
    "int32": (Upcast("g0", 4),),
    "summed": (Upcast("g0", 4), Unroll("r0", 4)),
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_reference_reads_element_by_element(name):
    ast = KERNELS[name]()
    given = contents(ast)
    out = np.zeros(ROWS * (1 if name == "summed" else COLUMNS), given[1].dtype)
    expected = by_hand(ast, {0: out, **given})[0]
    assert np.array_equal(evaluate(ast, {0: out, **given})[0], expected)
    bound = evaluate_with_bound(ast, {0: out, **given})[0]
    assert np.array_equal(bound.value.astype(out.dtype), expected)
    assert not bound.undecided.any()


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("name", KERNELS)
def test_every_backend_reads_what_the_reference_reads(name, backend):
    ast = KERNELS[name]()
    expected = evaluate(ast, contents(ast))[0]
    try:
        found = {"chosen": run(ast, backend), "none": run(ast, backend, ())}
    except DeviceError as error:
        pytest.skip(str(error))
    if name in OPTS:
        found["opts"] = run(ast, backend, OPTS[name])
    for which, values in found.items():
        assert np.array_equal(values.view(expected.dtype), expected), which


def _last_stage(ast):
    return compile_kernel(ast, find_target("llvm"), opts=()).stages[-1].node


def test_an_offset_proven_to_be_inside_needs_no_guard():
    def is_guarded(ast):
        last = toposort(_last_stage(ast))
        return any(node.op is Op.WHERE and node.dtype is FLOAT32 for node in last)

    assert is_guarded(picked())
    assert not is_guarded(picked(clamped=True))


def test_every_stage_of_a_gather_has_the_value_of_the_ast():
    ast = picked(total=True)
    expected = evaluate(ast, contents(ast))[0]
    for stage in compile_kernel(ast, find_target("opencl"), opts=OPTS["summed"]).stages:
        assert np.array_equal(evaluate(stage.node, contents(ast))[0], expected), stage.name


def test_the_text_of_both_ops_round_trips():
    ast = picked()
    assert parse_node(print_node(ast)) is ast


def test_an_index_is_an_offset():
    view = ViewStack((View((4,), (1,)),))
    node = intern(Op.INDEX, FLOAT32, (), (view,))
    out = intern(Op.BUFFER, FLOAT32, (), (0, 4))
    store = intern(Op.STORE, VOID, (out, node), (view,))
    with pytest.raises(VerifyError, match="an offset is int32 or int64"):
        verify(intern(Op.SINK, VOID, (store,), ((("g0", 4),),)), Spec.KERNEL)


def test_a_gather_without_an_offset_is_refused():
    table = intern(Op.BUFFER, FLOAT32, (), (1, 4))
    view = ViewStack((View((4,), (1,)),))
    out = intern(Op.BUFFER, FLOAT32, (), (0, 4))
    store = intern(Op.STORE, VOID, (out, intern(Op.GATHER, FLOAT32, (table,))), (view,))
    with pytest.raises(VerifyError, match="1 sources, expected 2"):
        verify(intern(Op.SINK, VOID, (store,), ((("g0", 4),),)), Spec.KERNEL)


def test_an_index_has_a_view():
    with pytest.raises(ParseError, match="expected view"):
        parse_node("ir 1\n%0 = INDEX int32\n")


def test_a_table_is_counted_once_however_often_it_is_read():
    positions = ROWS * COLUMNS
    found = compile_kernel(picked(), find_target("llvm"), opts=()).program.estimates
    assert found.bytes == 4 * (TABLE + positions + positions)  # table, places, result
