"""Elements added up at computed places: what gathers are differentiated to."""

from math import prod

from compiler.frontend import dtypes, graph
from compiler.frontend.functions.elementwise import equal, where
from compiler.frontend.functions.segments import combined_rows
from compiler.frontend.graph import Shape, Value
from compiler.ir import Op


def rows_added(given: Value, places: Value, length: int) -> Value:
    """Row i is the sum of the rows of `given` (m, *rest) whose entry in `places` (m,) is i."""
    wide = graph.cast(given, dtypes.accumulator(given.dtype))
    return graph.cast(combined_rows(Op.ADD, wide, places, length), given.dtype)


def added_along(given: Value, places: Value, axis: int, length: int) -> Value:
    """`given`, whose elements go to `places` (of its shape) along an axis that gets `length`."""
    shape = (*given.shape[:axis], 1, *given.shape[axis:])
    wide = graph.cast(given, dtypes.accumulator(given.dtype))
    whole = (*shape[:axis], length, *shape[axis + 1 :])
    ones = [1] * len(shape)
    ones[axis] = length
    numbers = graph.reshape(graph.count((length,), places.dtype, given.device), tuple(ones))
    hits = equal(graph.reshape(places, shape), numbers)
    candidates = where(hits, graph.reshape(wide, shape), graph.full(0, wide.dtype, (), wide.device))
    assert candidates.shape == whole
    return graph.cast(graph.reduce(Op.ADD, candidates, (axis + 1,)), given.dtype)


def elements_added(given: Value, offsets: Value, shape: Shape) -> Value:
    """An array of this shape, counted row by row, with the elements given at the offsets."""
    flat = graph.reshape(given, (given.size,))
    places = graph.reshape(offsets, (given.size,))
    return graph.reshape(rows_added(flat, places, prod(shape)), shape)
