"""The lowered form of a kernel: what it looks like, and that it means what the AST means."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.backends.reference import evaluate
from compiler.ir import (
    FLOAT32,
    INT32,
    INT64,
    VOID,
    Node,
    Op,
    Spec,
    View,
    ViewStack,
    intern,
    toposort,
    verify,
)
from compiler.kernel import (
    Group,
    GroupTop,
    Local,
    PadTo,
    Swap,
    Unroll,
    Upcast,
    apply_all,
    from_ast,
    parse_opts,
    to_nodes,
)
from compiler.rules import Builder
from compiler.target import LLVM, OPENCL


def lower(kernel, opts=""):
    root = to_nodes(apply_all(kernel, parse_opts(opts), OPENCL), Builder())
    verify(root, Spec.INDEXED)
    return root


def of(root, *ops):
    return [node for node in toposort(root) if node.op in ops]


def memory(root, variables=None):
    """Whole numbers for every buffer: sums and products of a few are exact."""
    generator = np.random.default_rng(7)
    sizes = {node.attr[0]: node.attr[1] for node in toposort(root) if node.op is Op.BUFFER}
    return {
        slot: generator.integers(-3, 4, size if isinstance(size, int) else variables).astype("f4")
        for slot, size in sizes.items()
    }


def test_every_axis_is_a_range_of_its_kind(kernel_of):
    ranges = of(lower(kernel_of("row_sum"), "UPCAST g0 4; GROUP r0 8; UNROLL r0.o 3"), Op.RANGE)
    assert [(node.attr[0], node.attr[1].name) for node in ranges] == [
        ("g0.o", "GLOBAL"), ("g0.i", "UPCAST"), ("r0.i", "GROUP"), ("r0.o", "UNROLL"),
    ]  # fmt: skip


def test_the_sink_lists_the_loops_in_nesting_order(kernel_of):  # row 76
    root = lower(kernel_of("matmul"), "SWAP g0 g1; LOCAL g0 4")
    assert root.attr[0] == (("g1", 12), ("g0.o", 2), ("g0.i", 4), ("r0", 16))


def test_a_reduce_folds_over_all_pieces_of_its_axes(kernel_of):
    (fold,) = of(lower(kernel_of("row_sum"), "GROUP r0 8; UNROLL r0.o 3"), Op.FOLD)
    assert [node.attr[0] for node in fold.src[1:]] == ["r0.i", "r0.o"]


def test_an_offset_is_one_flat_sum(kernel_of):  # row 82
    (read,) = of(lower(kernel_of("row_sum"), "UPCAST g0 4; UNROLL r0 4"), Op.READ)
    assert not of(read.src[1], Op.IDIV, Op.MOD)
    assert len(of(read.src[1], Op.ADD)) == 3


def test_nothing_is_gated_that_is_always_inside(kernel_of):
    root = lower(kernel_of("matmul"), "UPCAST g1 4; LOCAL g0 2")
    assert {len(node.src) for node in of(root, Op.READ)} == {2}
    assert {len(node.src) for node in of(root, Op.WRITE)} == {3}


def test_a_mask_gates_the_read_only_where_it_can_fail(kernel_of):
    kernel = kernel_of("""
%0 = BUFFER float32 slot=0 size=64
%1 = BUFFER float32 slot=1 size=64
%2 = LOAD float32 %1 view=[(8,8):(8,1)?(0:8,2:8)]
%3 = STORE void %0 %2 view=[(8,8):(8,1)]
%4 = SINK void %3 axes=(g0:8,g1:8)
""")
    (read,) = of(lower(kernel), Op.READ)
    assert [node.op for node in of(read.src[2], Op.LE, Op.LT)] == [Op.LE]


def test_padding_gates_reads_and_writes_that_depend_on_it(kernel_of):
    root = lower(kernel_of("matmul"), "PADTO g0 3")
    gated = {node.src[0].attr[0]: len(node.src) == 3 for node in of(root, Op.READ)}
    assert gated == {1: True, 2: False}
    assert len(of(root, Op.WRITE)[0].src) == 4


def test_padding_brings_no_division_between_the_views_of_a_stack(kernel_of):
    kernel = kernel_of("""
%0 = BUFFER float32 slot=0 size=21
%1 = BUFFER float32 slot=1 size=21
%2 = LOAD float32 %1 view=[(5,9):(7,1)+-8?(1:4,1:8)|(3,7,3,3):(9,1,9,1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0,r1)
%4 = STORE void %0 %3 view=[(3,7,3,3):(7,1,0,0)]
%5 = SINK void %4 axes=(g0:3,g1:7,r0:3,r1:3)
""")
    data = memory(kernel.ast)
    expected = evaluate(kernel.ast, data)[0]
    for opts in ("PADTO g1 8", "PADTO g1 16; UPCAST g1 16", "PADTO g0 2; PADTO g1 4; PADTO r1 2"):
        root = lower(kernel, opts)
        assert of(root, Op.IDIV, Op.MOD) == []
        np.testing.assert_array_equal(evaluate(root, data)[0], expected)


def test_a_mask_leaves_no_division_between_the_views_of_a_stack_below_it(kernel_of):
    """An image of 2 x 2 is enlarged to 4 x 4 and padded: a row or a column alone is halved."""
    kernel = kernel_of("""
%0 = BUFFER float32 slot=0 size=108
%1 = BUFFER float32 slot=1 size=12
%2 = LOAD float32 %1 view=[(3,4,2,2):(4,0,2,1)|(3,2,2,2,2):(16,2,4,1,8)|(3,6,6):(16,4,1)+-5?(0:3,1:5,1:5)]
%3 = STORE void %0 %2 view=[(3,6,6):(36,6,1)]
%4 = SINK void %3 axes=(g0:3,g1:6,g2:6)
""")  # noqa: E501  # one definition a line
    data = memory(kernel.ast)
    root = lower(kernel)
    np.testing.assert_array_equal(evaluate(root, data)[0], evaluate(kernel.ast, data)[0])
    offset = of(root, Op.READ)[0].src[1]
    divided = [node.src[0] for node in toposort(offset) if node.op in (Op.IDIV, Op.MOD)]
    assert [len(of(each, Op.RANGE)) for each in divided] == [1] * len(divided), "of one axis alone"


@pytest.mark.parametrize(
    ("op", "identity"),
    [("ADD", -0.0), ("MUL", 1.0), ("MAX", float("-inf")), ("MIN", float("inf"))],
)
def test_padding_gives_a_reduce_its_identity(kernel_of, op, identity):  # row 55
    text = f"""
%0 = BUFFER float32 slot=0 size=4
%1 = BUFFER float32 slot=1 size=20
%2 = LOAD float32 %1 view=[(4,5):(5,1)]
%3 = REDUCE float32 %2 op={op} axes=(r0)
%4 = STORE void %0 %3 view=[(4,5):(1,0)]
%5 = SINK void %4 axes=(g0:4,r0:5)
"""
    (fold,) = of(lower(kernel_of(text), "PADTO r0 8"), Op.FOLD)
    assert fold.src[0].op is Op.WHERE
    assert fold.src[0].src[2].value.hex() == identity.hex()


def test_a_masked_constant_is_chosen_by_its_mask(kernel_of):  # row 75
    kernel = kernel_of("""
%0 = BUFFER float32 slot=0 size=8
%1 = CONST float32 value=0x1.0000000000000p+0 view=[(8):(0)?(2:6)]
%2 = STORE void %0 %1 view=[(8):(1)]
%3 = SINK void %2 axes=(g0:8)
""")
    root = lower(kernel)
    assert evaluate(root, {})[0].tolist() == [0, 0, 1, 1, 1, 1, 0, 0]


def test_reduces_that_close_an_axis_differently_get_loops_of_their_own(kernel_of):
    kernel = kernel_of("""
%0 = BUFFER float32 slot=0 size=4
%1 = BUFFER float32 slot=1 size=96
%2 = LOAD float32 %1 view=[(4,6,4):(24,4,1)]
%3 = REDUCE float32 %2 op=MAX axes=(r0,r1)
%4 = BUFFER float32 slot=2 size=24
%5 = LOAD float32 %4 view=[(4,6,4):(6,1,0)]
%6 = REDUCE float32 %5 op=ADD axes=(r0)
%7 = ADD float32 %3 %6
%8 = STORE void %0 %7 view=[(4,6,4):(1,0,0)]
%9 = SINK void %8 axes=(g0:4,r0:6,r1:4)
""")
    root = lower(kernel, "UNROLL r0 2")
    names = [[node.attr[0] for node in fold.src[1:]] for fold in of(root, Op.FOLD)]
    assert names == [["r0.o", "r1", "r0.i"], ["r0.o#1", "r0.i#1"]]
    data = memory(kernel.ast)
    np.testing.assert_array_equal(evaluate(root, data)[0], evaluate(kernel.ast, data)[0])


def test_indices_are_32_bit_where_they_fit(kernel_of):
    assert {node.dtype for node in of(lower(kernel_of("matmul")), Op.RANGE)} == {INT32}


@pytest.mark.parametrize(("stride", "dtype"), [(1 << 28, INT32), (1 << 29, INT64)])
def test_indices_are_64_bit_where_32_may_not_be_enough(stride, dtype):
    # the greatest offset is 5 * stride: on either side of 2**31
    view = ViewStack((View((6,), (stride,)),))
    buffer = intern(Op.BUFFER, FLOAT32, (), (0, 6 * stride))
    other = intern(Op.BUFFER, FLOAT32, (), (1, 6 * stride))
    load = intern(Op.LOAD, FLOAT32, (other,), (view,))
    store = intern(Op.STORE, VOID, (buffer, load), (view,))
    root = lower(from_ast(intern(Op.SINK, VOID, (store,), ((("g0", 6),),))))
    assert {node.dtype for node in of(root, Op.RANGE)} == {dtype}


@pytest.mark.parametrize("n", [1, 5, 64])
def test_a_symbolic_kernel_runs_for_every_size(kernel_of, n):
    kernel = kernel_of("symbolic")
    root = lower(kernel, "UPCAST g1 4")
    data = memory(kernel.ast, 8 * n)
    after, before = evaluate(root, data, {"n": n}), evaluate(kernel.ast, data, {"n": n})
    np.testing.assert_array_equal(after[0], before[0])


def test_a_symbolic_reshape_is_unflattened(kernel_of):  # row 82
    kernel = kernel_of("""
%0 = VAR int64 name=n lo=1 hi=9
%1 = CONST int64 value=6 view=none
%2 = MUL int64 %0 %1
%3 = BUFFER float32 slot=0 size=%2
%4 = BUFFER float32 slot=1 size=%2
%5 = LOAD float32 %4 view=[(6,%0):(1,6)|(%0,6):(6,1)]
%6 = STORE void %3 %5 view=[(%0,6):(6,1)]
%7 = SINK void %6 axes=(g0:%0,g1:6)
""")
    root = lower(kernel)
    for n in (1, 4, 9):
        data = memory(kernel.ast, 6 * n)
        after, before = evaluate(root, data, {"n": n}), evaluate(kernel.ast, data, {"n": n})
        np.testing.assert_array_equal(after[0], before[0])


def test_the_order_of_a_product_of_opts_does_not_leak_into_values(kernel_of):
    kernel = kernel_of("matmul")
    data = memory(kernel.ast)
    expected = evaluate(kernel.ast, data)[0]
    for opts in ("", "UPCAST g0 4; UPCAST g1 3", "LOCAL g1 4; LOCAL g0 2; UNROLL r0 8",
                 "PADTO g0 3; PADTO g1 5; PADTO r0 3; UPCAST g0 3; GROUPTOP r0 9"):  # fmt: skip
        np.testing.assert_array_equal(evaluate(lower(kernel, opts), data)[0], expected)


@st.composite
def windows(draw):
    """Two stacked views as pooling makes them: windows over a padded image, with more around."""
    height, width = draw(st.integers(2, 5)), draw(st.integers(2, 5))
    top, left = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    padded = (height + 2 * top, width + 2 * left)
    mask = ((top, top + height), (left, left + width))
    inner = View(padded, (width, 1), -top * width - left, mask if top or left else None)
    kernel = (draw(st.integers(1, min(3, padded[0]))), draw(st.integers(1, min(3, padded[1]))))
    step = draw(st.integers(1, 2))
    out = tuple([(p - k) // step + 1 for p, k in zip(padded, kernel, strict=True)])
    above, before = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    valid = ((above, above + out[0]), (before, before + out[1]), (0, kernel[0]), (0, kernel[1]))
    out = (out[0] + 2 * above, out[1] + before)
    strides = (step * padded[1], step, padded[1], 1)
    start = -above * strides[0] - before * strides[1]
    outer = View((*out, *kernel), strides, start, valid if above or before else None)
    image = intern(Op.BUFFER, FLOAT32, (), (1, height * width))
    value = intern(Op.LOAD, FLOAT32, (image,), (ViewStack((inner, outer)),))
    axes = (("g0", out[0]), ("g1", out[1]), ("r0", kernel[0]), ("r1", kernel[1]))
    value = intern(
        Op.REDUCE, FLOAT32, (value,), (draw(st.sampled_from([Op.ADD, Op.MAX])), ("r0", "r1"))
    )
    result = intern(Op.BUFFER, FLOAT32, (), (0, out[0] * out[1]))
    store = ViewStack((View((*out, *kernel), (out[1], 1, 0, 0)),))
    return intern(Op.SINK, VOID, (intern(Op.STORE, VOID, (result, value), (store,)),), (axes,))


def some_opts(draw, kernel, target):
    for _ in range(draw(st.integers(0, 4))):
        if not kernel.axes:
            break
        names = st.sampled_from([axis.name for axis in kernel.axes])
        cut = draw(st.sampled_from([Upcast, Unroll, Local, Group, GroupTop, PadTo]))
        opt = draw(
            st.one_of(st.builds(cut, names, st.integers(2, 6)), st.builds(Swap, names, names))
        )
        if opt.why_illegal(kernel, target) is None:
            kernel = opt.apply(kernel)
    return kernel


@given(st.data(), windows(), st.sampled_from([LLVM, OPENCL]))
@settings(max_examples=150, deadline=None)
def test_any_legal_opts_keep_the_meaning_of_stacked_views(data, ast: Node, target):
    kernel = some_opts(data.draw, from_ast(ast), target)
    root = to_nodes(kernel, Builder())
    verify(root, Spec.INDEXED)
    values = memory(ast)
    np.testing.assert_array_equal(evaluate(root, values)[0], evaluate(ast, values)[0])
