"""Any chain of movement operations on an arange equals NumPy's; what is not valid reads as 0."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import ShapeError
from compiler.ir import INT64, Node, Op, View, ViewStack, intern, sym
from compiler.ir.viewmerge import merge
from compiler.ir.viewstack import extend, spread


def number(size, env):
    """The value of a size under a binding of its variables."""
    if isinstance(size, int):
        return size
    if size.op is Op.VAR:
        return env[size.attr[0]]
    if size.op is Op.CONST:
        return size.attr[0]
    a, b = [number(child, env) for child in size.src]
    return {
        Op.ADD: a + b, Op.SUB: a - b, Op.MUL: a * b, Op.MAX: max(a, b), Op.MIN: min(a, b),
        Op.IDIV: a // b if b else 0, Op.MOD: a % b if b else 0,
    }[size.op]  # fmt: skip


def read(buffer, stack, env=None):
    """What the stack shows of a flat buffer, straight from the definition of a view."""
    env = env or {}
    position, valid = None, None
    for view in reversed(stack.views):
        shape = [number(size, env) for size in view.shape]
        if position is None:
            index = list(np.indices(shape)) if shape else []
            valid = np.ones(shape, bool)
        else:
            flat, index = position, []
            for size in reversed(shape):
                index.insert(0, flat % size if size else flat)
                flat = flat // size if size else flat
        offset = np.full(valid.shape, number(view.offset, env))
        for axis, stride in enumerate(view.strides):
            offset = offset + index[axis] * number(stride, env)
            low, high = [number(bound, env) for bound in view.bounds[axis]]
            valid = valid & (index[axis] >= low) & (index[axis] < high)
        position = np.where(valid, offset, 0)
    if buffer.size == 0:
        assert not valid.any()
        return np.zeros(valid.shape, buffer.dtype)
    assert position.size == 0 or (position.min() >= 0 and position.max() < buffer.size)
    return np.where(valid, buffer[position], 0)


def _factors(draw, total):
    shape = []
    while total > 1 and len(shape) < 4:
        divisors = [d for d in range(1, total + 1) if total % d == 0]
        shape.append(draw(st.sampled_from(divisors)))
        total //= shape[-1]
    return (*shape, total)


def _permute(draw, stack, array):
    axes = tuple(draw(st.permutations(range(array.ndim))))
    return stack.permute(axes), array.transpose(axes)


def _reshape(draw, stack, array):
    shape = _factors(draw, array.size) if array.size else (0, 3)
    return stack.reshape(shape), array.reshape(shape)


def _expand(draw, stack, array):
    shape = tuple([draw(st.integers(1, 3)) if n == 1 else n for n in array.shape])
    if math.prod(shape) > 3000:
        return stack, array
    return stack.expand(shape), np.broadcast_to(array, shape)


def _pad(draw, stack, array):
    pairs = tuple([(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in array.shape])
    if math.prod(n + 4 for n in array.shape) > 5000:
        return stack, array
    return stack.pad(pairs), np.pad(array, pairs) if array.ndim else array


def _shrink(draw, stack, array):
    pairs = []
    for n in array.shape:
        low = draw(st.integers(0, n))
        pairs.append((low, draw(st.integers(low, n))))
    return stack.shrink(tuple(pairs)), array[tuple(slice(*pair) for pair in pairs)]


def _flip(draw, stack, array):
    axes = tuple(axis for axis in range(array.ndim) if draw(st.booleans()))
    return stack.flip(axes), np.flip(array, axes)


def _stride(draw, stack, array):
    steps = tuple([draw(st.integers(1, 3)) for _ in array.shape])
    return stack.stride(steps), array[tuple(slice(None, None, step) for step in steps)]


def _windows(draw, stack, array):
    if array.ndim == 0 or array.size > 500:
        return stack, array
    axis = draw(st.integers(0, array.ndim - 1))
    step, dilation = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    longest = (array.shape[axis] - 1) // dilation + 1
    if longest < 1:
        return stack, array
    length = draw(st.integers(1, min(3, longest)))
    reach = (length - 1) * dilation + 1
    shown = np.lib.stride_tricks.sliding_window_view(array, reach, axis)[..., ::dilation]
    shown = np.moveaxis(shown, -1, axis + 1)[(slice(None),) * axis + (slice(None, None, step),)]
    return stack.windows(axis, length, step, dilation), shown


MOVEMENTS = (_permute, _reshape, _expand, _pad, _shrink, _flip, _stride, _windows)


@st.composite
def movement(draw, stack, array):
    """One movement operation, on a stack and on the array it shows."""
    return draw(st.sampled_from(MOVEMENTS))(draw, stack, array)


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_any_chain_of_movement_operations_equals_numpy(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=0, max_size=4)))
    array = np.arange(1, math.prod(shape) + 1).reshape(shape)
    buffer, stack = array.reshape(-1), ViewStack.contiguous(shape)
    for _ in range(data.draw(st.integers(1, 6))):
        stack, array = data.draw(movement(stack, array))
        assert stack.shape == array.shape
    assert np.array_equal(read(buffer, stack), array)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_merging_two_views_changes_nothing(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    array = np.arange(1, math.prod(shape) + 1).reshape(shape)
    inner, shown = ViewStack.contiguous(shape), array
    for _ in range(2):
        inner, shown = data.draw(movement(inner, shown))
    outer, seen = ViewStack.contiguous(shown.shape), shown
    for _ in range(2):
        outer, seen = data.draw(movement(outer, seen))
    merged = inner.compose(outer)
    assert len(merged.views) <= len(inner.views) + len(outer.views)
    assert np.array_equal(read(array.reshape(-1), merged), seen)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_views_of_methods_are_canonical(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    stack, array = ViewStack.contiguous(shape), np.zeros(shape)
    for _ in range(3):
        stack, array = data.draw(movement(stack, array))
    for view in stack.views:
        assert view.canonical() == view


def test_reshape_of_a_permuted_view_adds_a_view_only_when_strides_cannot_say_it():
    turned = ViewStack.contiguous((3, 4)).permute((1, 0))
    assert len(turned.reshape((2, 2, 3)).views) == 1
    assert len(turned.reshape((12,)).views) == 2
    assert turned.reshape((12,)).reshape((4, 3)) == turned


def test_reshape_keeps_a_mask_that_stays_a_box():
    padded = ViewStack.contiguous((4, 6)).pad(((1, 1), (0, 0)))
    assert padded.reshape((36,)).views == (View((36,), (1,), -6, ((6, 30),)),)
    assert padded.reshape((36,)).reshape((6, 6)) == padded
    assert padded.reshape((2, 3, 6)).reshape((6, 6)) == padded


def test_padding_and_shrinking_back_is_nothing():
    whole = ViewStack.contiguous((4, 6))
    assert whole.pad(((2, 1), (0, 3))).shrink(((2, 6), (0, 6))) == whole


def test_flipping_twice_is_nothing():
    whole = ViewStack.contiguous((4, 6))
    assert whole.flip((0, 1)).flip((1,)).flip((0,)) == whole


def test_windows_that_miss_the_padding_see_no_mask():
    padded = ViewStack.contiguous((8,)).pad(((2, 2),))
    assert not padded.windows(0, 3).shrink(((2, 8), (0, 3))).has_mask


def test_a_view_of_padding_alone_is_void():
    stack = ViewStack.contiguous((3,)).pad(((0, 2),)).shrink(((3, 5),))
    assert stack.is_void
    assert np.array_equal(read(np.arange(1, 4), stack), [0, 0])


def test_merge_refuses_what_one_view_cannot_say():
    assert merge(View.contiguous((12,)), View((3, 4), (1, 3))) is None


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_extending_by_axes_walks_them_under_every_position(data):
    kept, reduced = (2, 3), (2, 2)
    array = np.arange(1, 25).reshape(*kept, *reduced)
    stack, shown = ViewStack.contiguous(kept), np.arange(6).reshape(kept)
    for _ in range(data.draw(st.integers(0, 3))):
        stack, shown = data.draw(movement(stack, shown))
    extended = extend(stack, reduced)
    assert extended.shape == (*stack.shape, *reduced)
    for place in np.ndindex(reduced):
        part = np.ascontiguousarray(array[(..., *place)]).reshape(-1)
        mine = read(array.reshape(-1), extended)[(..., *place)]
        assert np.array_equal(mine, read(part, stack))


def test_spreading_over_a_larger_domain_repeats_the_view():
    stack = ViewStack.contiguous((2, 3)).pad(((0, 1), (0, 0)))
    wide = spread(stack, (4, 3, 5, 3), {0: 1, 1: 3})
    shown = read(np.arange(1, 7), wide)
    assert np.array_equal(
        shown, np.broadcast_to(read(np.arange(1, 7), stack)[None, :, None], (4, 3, 5, 3))
    )


# --- symbolic sizes -------------------------------------------------------------------------------


def variable(name, low=1, high=9) -> Node:
    return intern(Op.VAR, INT64, (), (name, low, high))


N, M = variable("n"), variable("m", 2, 7)


def test_equal_sums_are_one_node():
    assert sym.add(sym.mul(N, 3), M) is sym.add(M, sym.sub(sym.mul(N, 4), N))
    assert sym.sub(sym.add(N, 5), sym.add(N, 2)) == 3


def test_division_is_exact_where_it_can_be_written_down():
    assert sym.floordiv(sym.mul(sym.mul(N, M), 6), sym.mul(N, 2)) is sym.mul(M, 3)
    assert sym.mod(sym.mul(N, 4), 2) == 0
    assert sym.mod(N, 12) is N


def test_order_is_decided_by_the_ranges_of_variables():
    assert sym.is_less(N, sym.add(N, 1))
    assert sym.is_at_most(N, sym.mul(N, M))
    assert not sym.is_less(N, M)
    assert sym.minimum(N, 9) is N


@pytest.mark.parametrize(("n", "m"), [(1, 2), (9, 7), (4, 5)])
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_chain_with_symbolic_sizes_equals_numpy_at_every_binding(n, m, data):
    stack, array = ViewStack.contiguous((N, M, 3)), np.arange(1, n * m * 3 + 1).reshape(n, m, 3)
    buffer = array.reshape(-1)
    for _ in range(data.draw(st.integers(1, 5))):
        stack, array = _symbolic_movement(data.draw(st.integers(0, 6)), stack, array)
    assert np.array_equal(read(buffer, stack, {"n": n, "m": m}), array)


def _symbolic_movement(kind, stack, array):
    rank = array.ndim
    if kind == 0:
        axes = tuple(reversed(range(rank)))
        return stack.permute(axes), array.transpose(axes)
    if kind == 1:
        return stack.flip((0,)), np.flip(array, 0)
    if kind == 2:
        pairs = ((1, 2),) + ((0, 0),) * (rank - 1)
        return stack.pad(pairs), np.pad(array, pairs)
    if kind == 3 and rank > 1:
        joined = sym.mul(stack.shape[0], stack.shape[1])
        return stack.reshape((joined, *stack.shape[2:])), array.reshape(-1, *array.shape[2:])
    if kind == 4:
        return stack.reshape((1, *stack.shape)), array[None]
    if kind == 5 and array.shape[0] == 1:
        shape = (2, *stack.shape[1:])
        return (
            (stack, array) if stack.shape[0] != 1 else (stack.expand(shape), np.repeat(array, 2, 0))
        )
    if kind == 6:
        return _every_other(stack, array)
    return stack, array


def _every_other(stack, array):
    try:
        return stack.stride((2,) + (1,) * (array.ndim - 1)), array[::2]
    except ShapeError:  # refused: a mask is a difference of floors, whose interval is too wide
        return stack, array


def test_a_symbolic_reshape_there_and_back_is_nothing():
    whole = ViewStack.contiguous((N, M, 3))
    joined = whole.permute((2, 0, 1)).reshape((3, sym.mul(N, M)))
    assert len(joined.views) == 1
    assert joined.reshape((3, N, M)).permute((1, 2, 0)) == whole
