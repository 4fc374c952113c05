"""Pools that need more than one number of each window."""

from dataclasses import dataclass
from math import prod

from compiler.frontend import dtypes, graph
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions import movement, reduce
from compiler.frontend.functions.creation import counting
from compiler.frontend.functions.window import windows
from compiler.frontend.graph import Number, Pairs, Value
from compiler.ir import INT64


@dataclass(frozen=True, slots=True)
class Windows:
    """Where the windows of a pool lie; one number or pair for each spatial axis."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: Pairs
    dilation: tuple[int, ...]


def seen(x: Value, at: Windows, filler: Number) -> Value:
    """(n, c, *windows, taps): the elements of every window, `filler` where it hangs over."""
    padded = movement.pad(x, ((0, 0), (0, 0), *at.padding), filler)
    found = windows(padded, at.kernel, at.stride, at.dilation)
    return graph.reshape(found, (*found.shape[: -len(at.kernel)], prod(at.kernel)))


def max_pool_places(x: Value, at: Windows, *, columns_first: bool) -> Value:
    """Where the greatest element of each window stands in `x`, flat, int64."""
    lowest = x.dtype.lowest
    elements = seen(x, at, lowest)
    best = graph.contiguous(reduce.max_(elements, -1, keepdims=True))
    number = graph.reshape(counting(x.size, x.device, INT64), x.shape)
    if columns_first:
        number = _columns_first(x)
    places = seen(number, at, x.size)
    hits = ew.logical_and(reduce.is_extreme(elements, best), ew.less(places, x.size))
    return reduce.min_(ew.where(hits, places, x.size), -1)


def _columns_first(x: Value) -> Value:
    """Flat places in which the first spatial axis runs fastest."""
    spatial = x.shape[2:]
    flat = graph.reshape(counting(x.size, x.device, INT64), (*x.shape[:2], *reversed(spatial)))
    return graph.permute(flat, (0, 1, *range(x.ndim - 1, 1, -1)))


def lp_pool(x: Value, at: Windows, p: int) -> Value:
    """(sum |x| ** p) ** (1 / p) of each window."""
    total = reduce.sum_(ew.power(ew.abs_(seen(x, at, 0)), p), -1)
    return ew.power(total, 1.0 / p)


def avg_pool(x: Value, at: Windows, counted: Pairs) -> Value:
    """The average of each window. Of the padding, `counted` counts as zeros."""
    total = reduce.sum_(seen(graph.cast(x, dtypes.accumulator(x.dtype)), at, 0), -1)
    one = graph.full(1, total.dtype, (1, 1, *x.shape[2:]), x.device)
    ones = movement.pad(one, ((0, 0), (0, 0), *counted), 1)
    rest = [(a - c, b - d) for (a, b), (c, d) in zip(at.padding, counted, strict=True)]
    count = reduce.sum_(seen(ones, Windows(at.kernel, at.stride, tuple(rest), at.dilation), 0), -1)
    return graph.cast(ew.divide(total, graph.contiguous(count)), x.dtype)
