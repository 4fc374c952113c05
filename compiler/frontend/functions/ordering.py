"""The order of rows: stable, NaN last, the two zeros equal.

Keys are integers in the same order as the elements. Blocks of up to `BLOCK` keys are ranked by
counting; sorted blocks are merged in pairs, where every place of the result finds by binary search
how many of the elements before it come from the first block.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from compiler.errors import ShapeError
from compiler.frontend import graph
from compiler.frontend.functions.elementwise import (
    add,
    bitwise_invert,
    bitwise_xor,
    equal,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    not_equal,
    subtract,
    where,
)
from compiler.frontend.functions.movement import moveaxis, pad
from compiler.frontend.functions.picking import offset_dtype, picked_along, places_along
from compiler.frontend.graph import Value
from compiler.frontend.operands import Operand
from compiler.frontend.shapes import as_axis
from compiler.frontend.symbolic import largest
from compiler.ir import BOOL, INT16, INT32, INT64, UINT8, Op

BLOCK = 256  # blocks are ranked by BLOCK comparisons an element, merges take log2 of their length


def argsort(x: Value, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Value:
    """The places of the elements in rising order, int64; equal ones keep their order."""
    if x.ndim == 0:
        raise ShapeError("argsort of shape (): needs an axis")
    along = as_axis(axis, x.ndim)
    if x.size == 0:
        return graph.full(0, INT64, x.shape, x.device)
    turned = moveaxis(sort_keys(x, descending=descending), along, -1)
    length = turned.shape[-1]
    rows = graph.reshape(turned, (prod(turned.shape[:-1]), length))
    order = graph.reshape(graph.cast(_order(rows), INT64), turned.shape)
    return moveaxis(order, -1, along)


def search(table: Value, keys: Value, before: Callable[[Operand, Operand], Value]) -> Value:
    """How many of the sorted table come before each key."""
    size = table.shape[0]
    dtype = offset_dtype(size + 1)
    low = graph.full(0, dtype, keys.shape, keys.device)
    high = graph.full(size, dtype, keys.shape, keys.device)
    for _ in range(largest(size).bit_length()):
        middle = _half(add(low, high))
        is_before = before(_at(table, middle), keys)
        is_open = less(low, high)
        goes_up = logical_and(is_open, is_before)
        low = where(goes_up, add(middle, 1), low)
        high = where(logical_and(is_open, logical_not(is_before)), middle, high)
    return low


def _half(x: Value) -> Value:
    return graph.elementwise(Op.SHR, x, graph.full(1, x.dtype, x.shape, x.device))


def _at(table: Value, places: Value) -> Value:
    """Elements of a flat table; a place at its end reads the last one."""
    clamped = minimum(maximum(places, 0), table.shape[0] - 1)
    return graph.gather(table, clamped)


# --- keys -----------------------------------------------------------------------------------------


def sort_keys(x: Value, *, descending: bool = False) -> Value:
    """Integers in the order of the elements: -0.0 like 0.0, every NaN above all."""
    if x.dtype.is_float:
        keys = _float_keys(x, descending=descending)
    elif x.dtype is BOOL:
        keys = graph.cast(x, UINT8)
    else:
        keys = x
    return bitwise_invert(keys) if descending else keys


def _float_keys(x: Value, *, descending: bool) -> Value:
    """A negative float has the bits of its magnitude under a sign: they are turned around."""
    ints = {16: INT16, 32: INT32, 64: INT64}[x.dtype.bits]
    bits = graph.bitcast(where(equal(x, 0), graph.full(0, x.dtype, x.shape, x.device), x), ints)
    turned = where(less(bits, 0), bitwise_xor(bits, int(ints.highest)), bits)
    last = ints.lowest if descending else ints.highest  # no other element has these bits
    return where(not_equal(x, x), int(last), turned)


# --- the order of rows ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Rows of sorted blocks: their keys, and where each stood in its row."""

    keys: Value  # (rows, blocks * length)
    places: Value
    length: int


def _order(keys: Value) -> Value:
    """For each row of keys their places in rising order."""
    rows, length = keys.shape
    blocks = 1
    while blocks * BLOCK < largest(length):
        blocks *= 2
    size = -(-length // blocks)
    padded = pad(keys, ((0, 0), (0, blocks * size - length)), constant_values=keys.dtype.highest)
    found = _sorted_blocks(padded, blocks, size)
    while blocks > 1:
        blocks //= 2
        found = _merged(found, blocks)
    return graph.shrink(found.places, ((0, rows), (0, length)))


def _sorted_blocks(keys: Value, blocks: int, size: int) -> _Sorted:
    rows = keys.shape[0]
    shape = (rows, blocks, size)
    split = graph.contiguous(graph.reshape(keys, shape))
    rank = graph.contiguous(_ranks(split))
    # the element of rank r stands at place r
    square = (*shape, size)
    wanted = places_along(size, 2, square, keys.device)
    ranks = graph.expand(graph.reshape(rank, (rows, blocks, 1, size)), square)
    where_it_is = places_along(size, 3, square, keys.device)
    inside = graph.reduce(Op.MAX, where(equal(ranks, wanted), where_it_is, -1), (3,))
    first = _scaled(places_along(blocks, 1, shape, keys.device), size)
    places = graph.contiguous(graph.reshape(add(first, inside), keys.shape))
    if blocks == 1:  # nothing is merged: keys are not needed any more
        return _Sorted(keys, places, size)
    return _Sorted(graph.contiguous(picked_along(keys, places, 1)), places, size)


def _ranks(keys: Value) -> Value:
    """How many of a block come before each of its keys; of equal ones the first does."""
    size = keys.shape[2]
    square = (*keys.shape, size)
    mine = graph.expand(graph.reshape(keys, (*keys.shape, 1)), square)
    other = graph.expand(graph.reshape(keys, (*keys.shape[:2], 1, size)), square)
    place = places_along(size, 2, square, keys.device)
    others_place = places_along(size, 3, square, keys.device)
    is_earlier = logical_and(equal(other, mine), less(others_place, place))
    before = graph.cast(logical_or(less(other, mine), is_earlier), INT32)
    return graph.reduce(Op.ADD, before, (3,))


def _merged(found: _Sorted, pairs: int) -> _Sorted:
    """Pairs of neighbouring blocks merged."""
    length = found.length
    source = graph.contiguous(_merge_path(found.keys, pairs, length))
    keys = graph.contiguous(graph.gather(found.keys, source))
    places = graph.contiguous(graph.gather(found.places, source))
    return _Sorted(keys, places, 2 * length)


def _merge_path(keys: Value, pairs: int, length: int) -> Value:
    """For each place of the merged blocks the offset of its key."""
    rows, whole = keys.shape
    shape, device = (rows, pairs, 2 * length), keys.device
    dtype = offset_dtype(keys.size)
    start = _scaled(graph.cast(places_along(rows, 0, shape, device), dtype), whole)
    start = add(
        start, _scaled(graph.cast(places_along(pairs, 1, shape, device), dtype), 2 * length)
    )
    place = graph.cast(places_along(2 * length, 2, shape, device), dtype)
    low = maximum(subtract(place, length), 0)  # how many come from the first block, at least
    high = minimum(place, length)  # at most
    for _ in range(largest(length).bit_length()):
        middle = _half(add(low, high))
        first = _key(keys, start, middle)
        second = _key(keys, start, add(subtract(subtract(place, middle), 1), length))
        is_open = less(low, high)
        takes_first = less_equal(first, second)
        low = where(logical_and(is_open, takes_first), add(middle, 1), low)
        high = where(logical_and(is_open, logical_not(takes_first)), middle, high)
    rest = subtract(place, low)
    first = _key(keys, start, low)
    second = _key(keys, start, add(rest, length))
    has_first, is_over = less(low, length), greater_equal(rest, length)
    takes_first = logical_and(has_first, logical_or(is_over, less_equal(first, second)))
    offset = add(start, where(takes_first, low, add(rest, length)))
    return graph.reshape(offset, keys.shape)


def _scaled(x: Value, factor: int) -> Value:
    return graph.elementwise(Op.MUL, x, graph.full(factor, x.dtype, x.shape, x.device))


def _key(keys: Value, start: Value, place: Value) -> Value:
    offset = minimum(maximum(add(start, place), 0), keys.size - 1)
    return graph.gather(keys, offset)
