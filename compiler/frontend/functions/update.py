"""Writing to places that are data: each element looks for the updates that mean it."""

from collections.abc import Sequence
from math import prod

from compiler.frontend import graph
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions.creation import arange_like
from compiler.frontend.functions.gathering import rows_at
from compiler.frontend.functions.segments import combined_rows, last_hits
from compiler.frontend.graph import Value
from compiler.ir import INT64, Op


def update_rows(x: Value, places: Value, updates: Value, op: Op | None = None) -> Value:
    """Row places[i] of x (n, *rest) becomes updates[i], or is combined with it by `op`.

    Places are (m,), from the end where negative. Without `op` the last of equal places wins.
    """
    length, rest, count = x.shape[0], x.shape[1:], places.shape[0]
    if not x.size or not count:
        return x
    whole = graph.cast(places, INT64)
    whole = graph.contiguous(ew.where(ew.less(whole, 0), ew.add(whole, length), whole))
    if op is None:
        last = graph.contiguous(last_hits(whole, length))
        column = graph.reshape(last, (length, *([1] * len(rest))))
        picked = rows_at(updates, [(0, last)], (length,))
        return ew.where(ew.greater_equal(column, 0), picked, x)
    return graph.elementwise(op, x, combined_rows(op, updates, whole, length))


def update_along(x: Value, indices: Value, updates: Value, axis: int, op: Op | None) -> Value:
    """x[..., indices[..., i, ...], ...] becomes updates[..., i, ...], or is combined with it."""
    places = [indices if i == axis else arange_like(indices, i) for i in range(x.ndim)]
    flat = graph.reshape(_flat(x, places), (indices.size,))
    rows, given = graph.reshape(x, (x.size,)), graph.reshape(updates, (updates.size,))
    return graph.reshape(update_rows(rows, flat, given, op), x.shape)


def update_nd(x: Value, indices: Value, updates: Value, op: Op | None) -> Value:
    """x[tuple(indices[i])] becomes updates[i], or is combined with it; the last axis is a place."""
    depth = indices.shape[-1]
    count = prod(indices.shape[:-1])
    rows = graph.reshape(indices, (count, depth))
    columns = [
        graph.reshape(graph.shrink(rows, ((0, count), (axis, axis + 1))), (count,))
        for axis in range(depth)
    ]
    rest = x.shape[depth:]
    size = prod(x.shape[:depth])
    flat = _flat(x, columns) if columns else graph.full(0, INT64, (count,), x.device)
    given = graph.reshape(updates, (count, *rest))
    return graph.reshape(update_rows(graph.reshape(x, (size, *rest)), flat, given, op), x.shape)


def _flat(x: Value, places: Sequence[Value]) -> Value:
    """Places on the first axes, negative ones from the end, counted row by row."""
    flat = graph.full(0, INT64, places[0].shape, x.device)
    for place, length in zip(places, x.shape, strict=False):
        whole = graph.cast(place, INT64)
        whole = ew.where(ew.less(whole, 0), ew.add(whole, length), whole)
        flat = ew.add(ew.multiply(flat, length), whole)
    return flat
