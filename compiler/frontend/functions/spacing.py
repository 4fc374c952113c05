"""Zeros between elements: what the transpose of a strided window is made of."""

from compiler.frontend import graph
from compiler.frontend.graph import Value


def dilate(x: Value, axis: int, step: int, span: int) -> Value:
    """`step - 1` zeros after each element of an axis, `span` elements in all."""
    if step == 1:
        return x
    before, size, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    wide = graph.reshape(x, (*before, size, 1, *after))
    pairs = [(0, 0)] * wide.ndim
    pairs[axis + 1] = (0, step - 1)
    flat = graph.reshape(graph.pad(wide, tuple(pairs)), (*before, size * step, *after))
    bounds = [(0, length) for length in flat.shape]
    bounds[axis] = (0, span)
    return graph.shrink(flat, tuple(bounds))
