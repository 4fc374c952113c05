"""The determinant, by elimination."""

from compiler.frontend import graph
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions import movement, reduce
from compiler.frontend.functions.creation import arange_like
from compiler.frontend.graph import Value
from compiler.frontend.symbolic import fixed
from compiler.ir import Op


def det(x: Value) -> Value:
    """The determinant of the last two axes, by elimination with the greatest pivot."""
    size = fixed(x.shape[-1])
    result = graph.full(1, x.dtype, x.shape[:-2], x.device)
    rows = x
    for step in range(size):
        rows = graph.contiguous(rows)
        column = _column(rows, 0)
        place = reduce.argmax(ew.abs_(column), -1, keepdims=True)
        at = arange_like(column, column.ndim - 1)
        is_pivot, is_first = ew.equal(at, place), ew.equal(at, 0)
        chosen = graph.contiguous(_chosen(rows, is_pivot))
        pivot = _column(movement.expand_dims(chosen, -2), 0)
        result = ew.multiply(result, movement.squeeze(pivot, -1))
        sign = ew.where(ew.equal(movement.squeeze(place, -1), 0), 1.0, ew.constant(result, -1.0))
        result = graph.contiguous(ew.multiply(result, sign))
        if step == size - 1:
            break
        first = _chosen(rows, is_first)
        swapped = ew.where(
            movement.expand_dims(is_pivot, -1), movement.expand_dims(first, -2), rows
        )
        safe = ew.where(ew.equal(pivot, 0), ew.constant(pivot, 1), pivot)
        factor = movement.expand_dims(ew.divide(_column(swapped, 0), safe), -1)
        rest = ew.subtract(swapped, ew.multiply(factor, movement.expand_dims(chosen, -2)))
        bounds = [(0, n) for n in x.shape[:-2]] + [(1, size - step), (1, size - step)]
        rows = graph.shrink(rest, tuple(bounds))
    return result


def _column(x: Value, place: int) -> Value:
    bounds = [(0, n) for n in x.shape[:-1]]
    return graph.reshape(graph.shrink(x, (*bounds, (place, place + 1))), x.shape[:-1])


def _chosen(rows: Value, mask: Value) -> Value:
    """The one row at which `mask` holds."""
    shown = ew.where(movement.expand_dims(mask, -1), rows, ew.constant(rows, 0))
    return graph.reduce(Op.ADD, shown, (rows.ndim - 2,))
