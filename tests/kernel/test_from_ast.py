"""The kernel that an AST starts as."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.backends.reference import evaluate
from compiler.errors import IRError
from compiler.ir import FLOAT32, VOID, AxisKind, Node, Op, Spec, View, ViewStack, intern, verify
from compiler.kernel import buffers, from_ast, reduces, variables


def elementwise(axes, *views):
    """A kernel that stores, by the first view, the sum of buffers read by the others."""
    size = 1 << 12
    reads = []
    for slot, view in enumerate(views[1:], 1):
        buffer = intern(Op.BUFFER, FLOAT32, (), (slot, size))
        reads.append(intern(Op.LOAD, FLOAT32, (buffer,), (view,)))
    value = reads[0]
    for read in reads[1:]:
        value = intern(Op.ADD, FLOAT32, (value, read))
    output = intern(Op.BUFFER, FLOAT32, (), (0, size))
    store = intern(Op.STORE, VOID, (output, value), (views[0],))
    return intern(Op.SINK, VOID, (store,), (axes,))


def stack(shape, strides, offset=0, mask=None):
    return ViewStack((View(shape, strides, offset, mask),))


def test_a_root_that_is_not_a_sink_is_refused(ast_of):  # row 1
    with pytest.raises(IRError, match="the root is STORE, expected SINK"):
        from_ast(ast_of("row_sum").src[0])


def test_every_reduce_is_found_sources_first(kernel_of):  # row 4
    assert [node.src[0].op for node in reduces(kernel_of("two_sums"))] == [Op.LOAD, Op.MUL]


def test_variables_are_sorted_by_name_and_range(kernel_of):  # row 5
    assert [node.attr for node in variables(kernel_of("symbolic"))] == [("n", 1, 64)]


def test_buffers_are_numbered_at_their_declaration(kernel_of):  # rows 6 and 13
    assert [node.attr[0] for node in buffers(kernel_of("matmul"))] == [0, 1, 2]


def test_the_domain_is_right_for_a_tree_of_reduces(kernel_of):  # row 7
    kernel = kernel_of("""
%0 = BUFFER float32 slot=0 size=4
%1 = BUFFER float32 slot=1 size=32
%2 = LOAD float32 %1 view=[(4,8,8):(8,1,0)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = BUFFER float32 slot=2 size=32
%5 = LOAD float32 %4 view=[(4,8,8):(8,0,1)]
%6 = ADD float32 %3 %5
%7 = REDUCE float32 %6 op=MAX axes=(r1)
%8 = STORE void %0 %7 view=[(4,8,8):(1,0,0)]
%9 = SINK void %8 axes=(g0:4,r0:8,r1:8)
""")
    assert kernel.domain == (("g0", 4), ("r0", 8), ("r1", 8))


def test_all_views_are_transformed_together():  # row 8
    axes = (("a", 2), ("b", 1), ("c", 3))
    views = [stack((2, 1, 3), (4, 0, 1)), stack((2, 1, 3), (3, 0, 1)), stack((2, 1, 3), (0, 0, 1))]
    kernel = from_ast(elementwise(axes, *views))
    shapes = [node.attr[0].shape for node in kernel.ast.src]
    shapes += [node.attr[0].shape for node in kernel.ast.src[0].src[1].src]
    assert shapes == [(2, 3)] * 3


def test_reduce_axes_go_last_in_their_order(kernel_of, axes_of):  # row 9
    kernel = kernel_of("""
%0 = BUFFER float32 slot=0 size=4
%1 = BUFFER float32 slot=1 size=999
%2 = LOAD float32 %1 view=[(3,2,5,4):(100,7,11,1)]
%3 = REDUCE float32 %2 op=ADD axes=(a,c)
%4 = STORE void %0 %3 view=[(3,2,5,4):(0,20,0,1)]
%5 = SINK void %4 axes=(a:3,b:2,c:5,d:4)
""")
    assert [axis.name for axis in kernel.axes] == ["b", "d", "a", "c"]
    assert [axis.is_reduce for axis in kernel.axes] == [False, False, True, True]


def test_a_kernel_starts_without_opts(kernel_of):  # row 10
    kernel = kernel_of("row_sum")
    assert (kernel.applied, kernel.pads, kernel.uses_locals) == ((), (), True)
    assert [axis.kind for axis in kernel.axes] == [AxisKind.GLOBAL, AxisKind.REDUCE]


def test_axes_of_size_one_are_dropped():  # rows 11 and 23
    views = [stack((1, 5, 1), (0, 2, 0))] * 2
    kernel = from_ast(elementwise((("a", 1), ("b", 5), ("c", 1)), *views))
    assert kernel.domain == (("b", 5),)


def test_an_axis_of_size_one_that_a_mask_excludes_stays():
    inside = stack((1, 5), (0, 1))
    outside = stack((1, 5), (0, 1), 0, ((0, 0), (0, 5)))
    kernel = from_ast(elementwise((("a", 1), ("b", 5)), inside, outside))
    assert [name for name, _ in kernel.domain] == ["a", "b"]


def test_a_reduce_over_axes_of_size_one_is_its_source(kernel_of):
    kernel = kernel_of("""
%0 = BUFFER float32 slot=0 size=4
%1 = BUFFER float32 slot=1 size=4
%2 = LOAD float32 %1 view=[(4,1):(1,0)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(4,1):(1,0)]
%5 = SINK void %4 axes=(g0:4,r0:1)
""")
    assert kernel.ast.src[0].src[1].op is Op.LOAD


def test_neighbours_with_consecutive_strides_merge_under_the_first_name():  # rows 11 and 24
    views = [stack((2, 3, 4), (12, 4, 1))] * 2
    kernel = from_ast(elementwise((("a", 2), ("b", 3), ("c", 4)), *views))
    assert kernel.domain == (("a", 24),)


def test_neighbours_merge_where_a_view_has_no_stride_on_both():  # row 24
    views = [stack((2, 3), (3, 1)), stack((2, 3), (0, 0))]
    assert from_ast(elementwise((("a", 2), ("b", 3)), *views)).domain == (("a", 6),)


def test_neighbours_stay_apart_when_one_view_repeats_the_inner_axis():  # row 24
    views = [stack((2, 3), (3, 1)), stack((2, 3), (1, 0))]
    assert len(from_ast(elementwise((("a", 2), ("b", 3)), *views)).axes) == 2


def test_output_and_reduce_axes_never_merge(kernel_of):  # row 24
    kernel = kernel_of("""
%0 = BUFFER float32 slot=0 size=1
%1 = BUFFER float32 slot=1 size=32
%2 = LOAD float32 %1 view=[(4,8):(8,1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(4,8):(0,0)]
%5 = SINK void %4 axes=(g0:4,r0:8)
""")
    assert len(kernel.axes) == 2


def test_axes_that_different_reduces_close_never_merge(kernel_of):  # row 24
    kernel = kernel_of("""
%0 = BUFFER float32 slot=0 size=1
%1 = BUFFER float32 slot=1 size=32
%2 = LOAD float32 %1 view=[(4,8):(8,1)]
%3 = REDUCE float32 %2 op=MAX axes=(r1)
%4 = REDUCE float32 %3 op=ADD axes=(r0)
%5 = STORE void %0 %4 view=[(4,8):(0,0)]
%6 = SINK void %5 axes=(r0:4,r1:8)
""")
    assert [axis.name for axis in kernel.axes] == ["r0", "r1"]


def test_a_symbolic_axis_never_merges(kernel_of):  # row 24
    assert [axis.name for axis in kernel_of("symbolic").axes] == ["g0", "g1"]


def test_a_mask_on_the_outer_axis_merges():  # row 24
    views = [stack((4, 3), (3, 1)), stack((4, 3), (3, 1), 0, ((1, 3), (0, 3)))]
    kernel = from_ast(elementwise((("a", 4), ("b", 3)), *views))
    read = kernel.ast.src[0].src[1]
    assert read.attr[0].views[-1].mask == ((3, 9),)


def test_a_mask_on_the_inner_axis_keeps_the_axes_apart():  # row 24
    views = [stack((4, 3), (3, 1)), stack((4, 3), (3, 1), 0, ((0, 4), (0, 2)))]
    assert len(from_ast(elementwise((("a", 4), ("b", 3)), *views)).axes) == 2


def test_only_the_outermost_view_of_a_stack_changes():
    inner = View((4, 4), (1, 4))
    outer = View((2, 8), (8, 1))
    kernel = from_ast(elementwise((("a", 2), ("b", 8)), stack((2, 8), (8, 1)),
                                  ViewStack((inner, outer))))  # fmt: skip
    assert kernel.ast.src[0].src[1].attr[0] == ViewStack((inner, View((16,), (1,))))


@st.composite
def random_kernels(draw):
    rank = draw(st.integers(1, 4))
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank)))
    axes = tuple((f"a{position}", size) for position, size in enumerate(shape))

    def row_major():
        strides, step = [], 1
        for size in reversed(shape):
            strides.insert(0, step)
            step *= size
        return strides

    def read_view():
        kind = draw(st.sampled_from(["contiguous", "broadcast", "any"]))
        strides = row_major()
        if kind == "broadcast":
            strides = [stride * draw(st.integers(0, 1)) for stride in strides]
        if kind == "any":
            strides = [draw(st.integers(0, 5)) for _ in shape]
        mask = None
        if draw(st.booleans()):
            mask = tuple((draw(st.integers(0, 1)), size - draw(st.integers(0, 1)))
                         if draw(st.booleans()) else (0, size) for size in shape)  # fmt: skip
            mask = tuple((low, max(low, high)) for low, high in mask)
        return stack(shape, tuple(strides), draw(st.integers(0, 3)), mask)

    reads = [read_view() for _ in range(draw(st.integers(1, 3)))]
    reduced = tuple(name for name, _ in axes if draw(st.booleans()))
    steps = zip(axes, row_major(), strict=True)
    store = stack(shape, tuple([0 if name in reduced else step for (name, _), step in steps]))
    ast = elementwise(axes, store, *reads)
    if not reduced:
        return ast
    write = ast.src[0]
    total = intern(Op.REDUCE, FLOAT32, (write.src[1],), (Op.ADD, reduced))
    write = intern(Op.STORE, VOID, (write.src[0], total), write.attr)
    return intern(Op.SINK, VOID, (write,), ast.attr)


@given(random_kernels())
@settings(max_examples=200, deadline=None)
def test_the_kernels_own_ast_means_the_same(ast: Node):
    kernel = from_ast(ast)
    verify(kernel.ast, Spec.KERNEL)
    memory = {slot: np.arange(1 << 12, dtype=np.float32) % 97 for slot in range(4)}
    before, after = evaluate(ast, memory)[0], evaluate(kernel.ast, memory)[0]
    np.testing.assert_array_equal(before, after)
