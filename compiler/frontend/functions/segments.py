"""What was given for each of many rows, combined: scattering without writes that could meet.

Where it is little, each row looks through all that was given. Where it is much, what was given is
sorted by row, equal rows are combined with neighbours at distances 1, 2, 4, ... and each row finds
its last one by binary search. Either way the order is fixed by the places alone.
"""

from math import prod

from compiler.frontend import graph
from compiler.frontend.functions.elementwise import (
    equal,
    greater_equal,
    less_equal,
    logical_and,
    subtract,
    where,
)
from compiler.frontend.functions.ordering import argsort, search
from compiler.frontend.functions.picking import offset_dtype, picked_rows, places_along
from compiler.frontend.graph import Value
from compiler.frontend.operands import broadcast_to
from compiler.frontend.symbolic import largest
from compiler.ir import INT32, Op

FEW = 1 << 22  # comparisons that take less time than sorting


def combined_rows(op: Op, given: Value, places: Value, length: int) -> Value:
    """Row i of `length` is `op` over the rows of `given` (m, *rest) whose place in (m,) is i.

    Of no rows, the identity of `op`. A place that is no row is left out.
    """
    count, rest = given.shape[0], given.shape[1:]
    if count == 0 or largest(count * length * prod(rest)) <= FEW:
        return _looked_through(op, given, places, length)
    return _sorted(op, given, places, length)


def last_hits(places: Value, length: int) -> Value:
    """For each of `length` rows the last index whose place it is; -1 if there is none."""
    count = places.shape[0]
    if count == 0:
        return graph.full(-1, INT32, (length,), places.device)
    if largest(count * length) <= FEW:
        hits = _hits(places, length)
        indices = places_along(count, 1, hits.shape, places.device)
        return graph.reduce(Op.MAX, where(hits, indices, -1), (1,))
    order = argsort(places)
    keys = _ordered(places, order)
    last, found = _last(keys, length)
    return where(found, picked_rows(order, [(0, last)], (length,)), -1)


def _hits(places: Value, length: int) -> Value:
    shape, device = (length, places.shape[0]), places.device
    rows = graph.cast(places_along(length, 0, shape, device), places.dtype)
    return equal(rows, graph.expand(graph.reshape(places, (1, shape[1])), shape))


def _looked_through(op: Op, given: Value, places: Value, length: int) -> Value:
    count, rest = given.shape[0], given.shape[1:]
    ones, shape = [1] * len(rest), (length, count, *rest)
    hits = graph.expand(graph.reshape(_hits(places, length), (length, count, *ones)), shape)
    terms = graph.expand(graph.reshape(given, (1, *given.shape)), shape)
    neutral = graph.full(graph.identity(op, given.dtype), given.dtype, shape, given.device)
    return graph.reduce(op, graph.elementwise(Op.WHERE, hits, terms, neutral), (1,))


def _sorted(op: Op, given: Value, places: Value, length: int) -> Value:
    count, rest = given.shape[0], given.shape[1:]
    order = argsort(places)
    keys, rows = _ordered(places, order), _ordered(given, order)
    distance = 1
    while distance < largest(count):
        rows = graph.contiguous(_with_earlier(op, rows, keys, distance))
        distance *= 2
    last, found = _last(keys, length)
    picked = picked_rows(rows, [(0, last)], (length,))
    is_given = graph.reshape(found, (length, *([1] * len(rest))))
    neutral = graph.full(graph.identity(op, given.dtype), given.dtype, picked.shape, given.device)
    return where(broadcast_to(is_given, picked.shape), picked, neutral)


def _ordered(x: Value, order: Value) -> Value:
    return graph.contiguous(picked_rows(x, [(0, order)], order.shape))


def _with_earlier(op: Op, rows: Value, keys: Value, distance: int) -> Value:
    """Each row combined with the one `distance` before it, if both belong to one place."""
    count, ones = keys.shape[0], [1] * (rows.ndim - 1)
    none = ((0, 0),) * len(ones)
    whole = tuple([(0, n) for n in rows.shape[1:]])
    is_same = equal(
        graph.shrink(keys, ((distance, count),)), graph.shrink(keys, ((0, count - distance),))
    )
    is_same = graph.pad(is_same, ((distance, 0),))
    earlier = graph.shrink(rows, ((0, count - distance), *whole))
    earlier = graph.pad(earlier, ((distance, 0), *none))
    wide = broadcast_to(graph.reshape(is_same, (count, *ones)), rows.shape)
    return where(wide, graph.elementwise(op, earlier, rows), rows)


def _last(keys: Value, length: int) -> tuple[Value, Value]:
    """For each row the last of the sorted keys that is it, and whether there is one."""
    numbers = graph.cast(graph.count((length,), offset_dtype(length), keys.device), keys.dtype)
    last = subtract(search(keys, numbers, less_equal), 1)
    is_row = equal(picked_rows(keys, [(0, last)], (length,)), numbers)
    return last, logical_and(greater_equal(last, 0), is_row)
