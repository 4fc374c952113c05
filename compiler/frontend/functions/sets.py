"""Distinct elements, places that hold, membership. How many there are shows when they are computed.

So these functions realize: the result's shape comes from elements. NaNs are distinct.
"""

from typing import NamedTuple

import numpy as np

from compiler.errors import ShapeError
from compiler.frontend import graph
from compiler.frontend.dtypes import promote
from compiler.frontend.functions.elementwise import (
    equal,
    logical_and,
    logical_not,
    minimum,
    not_equal,
    subtract,
)
from compiler.frontend.functions.gathering import rows_at
from compiler.frontend.functions.movement import pad
from compiler.frontend.functions.ordering import argsort
from compiler.frontend.functions.scan import cumsum
from compiler.frontend.functions.sorting import searchsorted
from compiler.frontend.graph import Value
from compiler.frontend.operands import Operand, as_value, device_of
from compiler.frontend.realize import to_numpy
from compiler.frontend.storage import from_array
from compiler.ir import BOOL, INT64


class UniqueAll(NamedTuple):
    """Distinct elements in rising order, their first places, the way back, and how many of each."""

    values: Value
    indices: Value
    inverse_indices: Value
    counts: Value


class UniqueCounts(NamedTuple):
    values: Value
    counts: Value


class UniqueInverse(NamedTuple):
    values: Value
    inverse_indices: Value


def nonzero(x: Value) -> tuple[Value, ...]:
    """The places of the elements that are not 0, row by row, for each axis."""
    if x.ndim == 0:
        raise ShapeError("nonzero of shape (): needs an axis")
    found = np.nonzero(to_numpy(graph.cast(x, BOOL)))
    return tuple([from_array(np.asarray(places, np.int64), x.device) for places in found])


def unique_all(x: Value) -> UniqueAll:
    """All that is to say about the distinct elements."""
    flat = graph.reshape(x, (x.size,))
    order = argsort(flat)
    sorted_ = graph.contiguous(rows_at(flat, [(0, order)], flat.shape))
    is_first = _first_of_equals(sorted_)
    starts = np.flatnonzero(to_numpy(is_first)).astype(np.int64)
    counts = np.diff(np.append(starts, x.size)).astype(np.int64)
    places = from_array(starts, x.device)
    values = rows_at(sorted_, [(0, places)], places.shape)
    indices = rows_at(order, [(0, places)], places.shape)
    group = subtract(cumsum(graph.cast(is_first, INT64), 0), 1) if x.size else order
    rank = argsort(order)  # where each element stands among the sorted ones
    inverse = graph.reshape(rows_at(group, [(0, rank)], flat.shape), x.shape)
    return UniqueAll(values, indices, inverse, from_array(counts, x.device))


def _first_of_equals(sorted_: Value) -> Value:
    """Whether each element of a sorted row differs from the one before."""
    size = sorted_.shape[0]
    if size == 0:
        return graph.full(1, BOOL, (0,), sorted_.device)
    rest = graph.shrink(sorted_, ((1, size),))
    differs = not_equal(rest, graph.shrink(sorted_, ((0, size - 1),)))  # NaN from NaN as well
    return pad(differs, ((1, 0),), constant_values=True)


def unique_counts(x: Value) -> UniqueCounts:
    """The distinct elements and how many there are of each."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Value) -> UniqueInverse:
    """The distinct elements and which of them each element is."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Value) -> Value:
    """The distinct elements in rising order."""
    return unique_all(x).values


def isin(x1: Operand, x2: Operand, *, invert: bool = False) -> Value:
    """Whether each element of x1 is one of x2; NaN is none."""
    device = device_of([x1, x2])
    x, among = as_value(x1, device), as_value(x2, device)
    if among.size == 0:
        return graph.full(int(invert), BOOL, x.shape, device)
    is_in = _is_in(x, among)
    return logical_not(is_in) if invert else is_in


def _is_in(x: Value, among: Value) -> Value:
    if x.dtype.is_int and among.dtype.is_int and promote(x.dtype, among.dtype).is_float:
        same = graph.cast(x, among.dtype)  # no float tells all 64-bit integers apart
        return logical_and(equal(same, x), _is_in(same, among))
    flat = graph.reshape(among, (among.size,))
    ordered = graph.contiguous(rows_at(flat, [(0, argsort(flat))], flat.shape))
    place = minimum(searchsorted(ordered, x), among.size - 1)
    return equal(rows_at(ordered, [(0, place)], x.shape), x)
