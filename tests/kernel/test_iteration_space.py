"""Any legal sequence of opts visits each position of the domain exactly once."""

from collections import Counter
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.ir import FLOAT32, VOID, AxisKind, Op, View, ViewStack, intern
from compiler.kernel import (
    OUTPUT_KINDS,
    Group,
    GroupTop,
    Local,
    NoLocals,
    Pad,
    PadTo,
    Swap,
    Unroll,
    Upcast,
    from_ast,
)
from compiler.target import LLVM, OPENCL

SIZES = st.sampled_from([2, 3, 4, 5, 6, 8])


def kernel_over(outputs, reduced):
    """A kernel whose axes have these sizes; strides of powers keep them from merging."""
    sizes = [*outputs, *reduced]
    names = [f"g{k}" for k in range(len(outputs))] + [f"r{k}" for k in range(len(reduced))]
    strides = tuple([13 ** (len(sizes) - k) for k in range(len(sizes))])
    buffer = intern(Op.BUFFER, FLOAT32, (), (1, 13**6))
    value = intern(Op.LOAD, FLOAT32, (buffer,), (ViewStack((View(tuple(sizes), strides),)),))
    if reduced:
        value = intern(Op.REDUCE, FLOAT32, (value,), (Op.ADD, tuple(names[len(outputs) :])))
    steps = tuple(
        [0 if name.startswith("r") else s for name, s in zip(names, strides, strict=True)]
    )
    output = intern(Op.BUFFER, FLOAT32, (), (0, 13**6))
    view = ViewStack((View(tuple(sizes), steps),))
    store = intern(Op.STORE, VOID, (output, value), (view,))
    return from_ast(intern(Op.SINK, VOID, (store,), (tuple(zip(names, sizes, strict=True)),)))


def positions(kernel):
    """How often each position of the domain is visited, by the definition of axes and pads."""
    visited = Counter()
    for values in product(*[range(axis.size) for axis in kernel.axes]):
        value = {axis.name: number for axis, number in zip(kernel.axes, values, strict=True)}

        def index(origin, value=value):
            parts = kernel.pieces(origin)
            return sum(p.step * (index(p.name) if isinstance(p, Pad) else value[p.name])
                       for p in parts)  # fmt: skip

        if all(index(pad.name) < pad.size for pad in kernel.pads):
            visited[tuple(index(name) for name, _ in kernel.domain)] += 1
    return visited


@st.composite
def opt_sequences(draw):
    target = draw(st.sampled_from([LLVM, OPENCL]))
    kernel = kernel_over(
        draw(st.lists(SIZES, min_size=1, max_size=2)), draw(st.lists(SIZES, max_size=2))
    )
    start = kernel
    for _ in range(draw(st.integers(0, 5))):
        names = st.sampled_from([axis.name for axis in kernel.axes])
        opt = draw(
            st.one_of(
                st.builds(
                    draw(st.sampled_from([Upcast, Unroll, Local, Group, GroupTop, PadTo])),
                    names,
                    st.integers(2, 13),
                ),
                st.builds(Swap, names, names),
                st.just(NoLocals()),
            )
        )
        if opt.why_illegal(kernel, target) is None:
            kernel = opt.apply(kernel)
    return start, kernel


@given(opt_sequences())
@settings(max_examples=200, deadline=None)
def test_any_legal_opt_sequence_visits_each_position_once(kernels):
    start, kernel = kernels
    sizes = [range(size) for _, size in start.domain]
    assert positions(kernel) == Counter(product(*sizes))


@given(opt_sequences())
@settings(max_examples=100, deadline=None)
def test_axes_stay_in_nesting_order_with_names_of_their_own(kernels):
    _, kernel = kernels
    order = list(AxisKind)
    places = [order.index(axis.kind) for axis in kernel.axes]
    names = [part.name for part in (*kernel.axes, *kernel.pads)]
    assert places == sorted(places)
    assert len(set(names)) == len(names)


@given(opt_sequences())
@settings(max_examples=100, deadline=None)
def test_output_axes_stay_output_axes(kernels):
    _, kernel = kernels
    for axis in kernel.axes:
        assert (axis.kind in OUTPUT_KINDS) == axis.name.startswith("g")
