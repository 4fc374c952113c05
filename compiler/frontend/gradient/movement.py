"""How the gradient of moved elements goes back to where they came from.

What was left out gets 0; an element that is seen more than once gets the sum.
"""

from collections.abc import Mapping

from compiler.frontend import dtypes, graph
from compiler.frontend.formulas import Rule
from compiler.frontend.functions.movement import spread_out
from compiler.frontend.graph import Kind, Value
from compiler.ir import Op


def total(g: Value, axes: tuple[int, ...]) -> Value:
    """The sum over axes; 16-bit floats are summed in float32 and rounded once."""
    wide = graph.cast(g, dtypes.accumulator(g.dtype))
    return graph.cast(graph.reduce(Op.ADD, wide, axes), g.dtype)


def _permute(g: Value, y: Value) -> Value:
    axes = y.arg
    return graph.permute(g, tuple([axes.index(axis) for axis in range(len(axes))]))


def _expand(g: Value, y: Value) -> Value:
    before = y.src[0].shape
    grown = [
        axis for axis, (old, new) in enumerate(zip(before, y.shape, strict=True)) if old != new
    ]
    return graph.reshape(total(g, tuple(grown)), before)


def _pad(g: Value, y: Value) -> Value:
    inside = zip(y.arg, y.src[0].shape, strict=True)
    return graph.shrink(g, tuple([(before, before + size) for (before, _), size in inside]))


def _shrink(g: Value, y: Value) -> Value:
    cut = zip(y.arg, y.src[0].shape, strict=True)
    return graph.pad(g, tuple([(start, size - stop) for (start, stop), size in cut]))


def _stride(g: Value, y: Value) -> Value:
    for axis, (step, size) in enumerate(zip(y.arg, y.src[0].shape, strict=True)):
        g = spread_out(g, axis, step, size)
    return g


def _windows(g: Value, y: Value) -> Value:
    """The sum over all windows an element is in."""
    axis, length, step, dilation = y.arg
    size = y.src[0].shape[axis]
    if dilation == 1 and step >= length:
        return _side_by_side(g, axis, step, size)
    return _overlapping(g, axis, step, dilation, size)


def _side_by_side(g: Value, axis: int, step: int, size: int) -> Value:
    """No element is in two windows: they are put one after the other again."""
    count, length = g.shape[axis : axis + 2]
    g = _padded(g, axis + 1, step - length)
    g = graph.reshape(g, (*g.shape[:axis], count * step, *g.shape[axis + 2 :]))
    g = _cut(g, axis, min(size, count * step))  # the last gap may reach beyond the end
    return _padded(g, axis, size - g.shape[axis])


def _overlapping(g: Value, axis: int, step: int, dilation: int, size: int) -> Value:
    """Row k of a matrix (place in window, element) is moved right by k * dilation, and summed.

    Rows of size + dilation elements, read again as rows of size, are so moved.
    """
    length = g.shape[axis + 1]
    lead, tail = g.shape[:axis], g.shape[axis + 2 :]
    order = list(range(g.ndim))
    order[axis], order[axis + 1] = axis + 1, axis
    rows = graph.permute(g, tuple(order))
    rows = spread_out(rows, axis + 1, step, (g.shape[axis] - 1) * step + 1)
    rows = _padded(rows, axis + 1, size + dilation - rows.shape[axis + 1])
    flat = graph.reshape(rows, (*lead, length * (size + dilation), *tail))
    moved = graph.reshape(_cut(flat, axis, length * size), (*lead, length, size, *tail))
    return total(moved, (axis,))


def _padded(g: Value, axis: int, after: int) -> Value:
    pairs = [(0, 0)] * g.ndim
    pairs[axis] = (0, after)
    return graph.pad(g, tuple(pairs))


def _cut(g: Value, axis: int, stop: int) -> Value:
    pairs = [(0, size) for size in g.shape]
    pairs[axis] = (0, stop)
    return graph.shrink(g, tuple(pairs))


RULES: Mapping[Kind, Rule] = {
    Kind.PERMUTE: _permute,
    Kind.RESHAPE: lambda g, y: graph.reshape(g, y.src[0].shape),
    Kind.EXPAND: _expand,
    Kind.PAD: _pad,
    Kind.SHRINK: _shrink,
    Kind.FLIP: lambda g, y: graph.flip(g, y.arg),
    Kind.STRIDE: _stride,
    Kind.WINDOWS: _windows,
    Kind.CONTIGUOUS: lambda g, y: g,
}
