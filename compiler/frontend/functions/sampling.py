"""Reading an image between its pixels, at coordinates that are data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from compiler.frontend import graph
from compiler.frontend.functions import division
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions.indexing import take
from compiler.frontend.functions.movement import moveaxis
from compiler.frontend.graph import Value
from compiler.ir import BOOL, INT64

CUBIC = -0.75


@dataclass(frozen=True, slots=True)
class Border:
    """What lies beyond an image: zeros, the nearest pixel, or its reflection about `edge`."""

    mode: str = "zeros"
    edge: float = 0.0  # 0: the middle of the outer pixels; -0.5: their outer side


@dataclass(frozen=True, slots=True)
class Tap:
    """One of the pixels that an element is made of: (n, m) weights, (n, m, c) pixels."""

    weight: Value
    pixels: Value


def sample(
    x: Value, batch: Value, coordinates: Sequence[Value], mode: str, border: Border
) -> Value:
    """(n, m, c): x (b, c, *spatial) at coordinates (n, m) per axis, in the image batch (n, m)."""
    total: Value | None = None
    for tap in taps(x, batch, coordinates, mode, border):
        term = ew.multiply(graph.reshape(tap.weight, (*tap.weight.shape, 1)), tap.pixels)
        total = term if total is None else ew.add(total, term)
    assert total is not None
    return total


def taps(
    x: Value, batch: Value, coordinates: Sequence[Value], mode: str, border: Border
) -> list[Tap]:
    """All pixels that `sample` adds up, with their weights."""
    sizes = x.shape[2:]
    inside = [_within(at, n, border) for at, n in zip(coordinates, sizes, strict=True)]
    axes = [
        [_pixel(i, w, n, border) for i, w in _MODES[mode](at)]
        for at, n in zip(inside, sizes, strict=True)
    ]
    area = 1
    for size in sizes:
        area *= size
    rows = graph.reshape(moveaxis(x, 1, -1), (x.shape[0] * area, x.shape[1]))
    rows = graph.contiguous(rows)
    found = []
    for corner in product(*axes):
        flat, weight = graph.cast(batch, INT64), None
        exists = graph.full(1, BOOL, batch.shape, x.device)
        for (place, part, is_there), size in zip(corner, sizes, strict=True):
            flat = ew.add(ew.multiply(flat, size), place)
            weight = part if weight is None else ew.multiply(weight, part)
            exists = ew.logical_and(exists, is_there)
        assert weight is not None
        flat = ew.where(exists, flat, x.shape[0] * area)  # a gather out of range reads 0
        found.append(Tap(weight, take(rows, graph.contiguous(flat), 0)))
    return found


def _within(at: Value, size: int, border: Border) -> Value:
    if border.mode == "border":  # half a pixel beyond the last one is still inside
        is_inside = ew.logical_and(
            ew.greater_equal(at, border.edge), ew.less_equal(at, size - 1 - border.edge)
        )
        return ew.where(is_inside, at, ew.clip(at, 0.0, float(size - 1)))
    return _reflected(at, size, border.edge) if border.mode == "reflection" else at


def _reflected(at: Value, size: int, edge: float) -> Value:
    """A triangle wave between the edges."""
    reach = size - 1 - 2 * edge
    if reach == 0:
        return ew.constant(at, 0.0)
    phase = division.remainder(ew.subtract(at, edge), 2 * reach)
    return ew.add(ew.minimum(phase, ew.subtract(2 * reach, phase)), edge)


def _pixel(place: Value, weight: Value, size: int, border: Border) -> tuple[Value, Value, Value]:
    """Where a whole coordinate is found, with its weight, and whether it is found at all."""
    if border.mode == "reflection":
        place = _within(place, size, border)
    if border.mode != "zeros":
        place = ew.clip(ew.trunc(place), 0.0, float(size - 1))
    is_there = ew.logical_and(ew.greater_equal(place, 0), ew.less_equal(place, size - 1))
    return graph.cast(place, INT64), weight, is_there


def _nearest(at: Value) -> list[tuple[Value, Value]]:
    return [(ew.round_(at), ew.constant(at, 1.0))]


def _linear(at: Value) -> list[tuple[Value, Value]]:
    low = ew.floor(at)
    ratio = ew.subtract(at, low)
    return [(low, ew.subtract(1.0, ratio)), (ew.add(low, 1.0), ratio)]


def _cubic(at: Value) -> list[tuple[Value, Value]]:
    """Source: R. Keys, Cubic convolution interpolation, 1981."""
    low = ew.floor(at)
    t, a = ew.subtract(at, low), CUBIC

    def near(x: Value) -> Value:
        inner = ew.subtract(ew.multiply(x, a + 2), a + 3)
        return ew.add(ew.multiply(ew.multiply(inner, x), x), 1.0)

    def far(x: Value) -> Value:
        inner = ew.add(ew.multiply(ew.subtract(x, 5.0), x), 8.0)
        return ew.multiply(ew.subtract(ew.multiply(inner, x), 4.0), a)

    rest = ew.subtract(1.0, t)
    weights = [far(ew.add(t, 1.0)), near(t), near(rest), far(ew.add(rest, 1.0))]
    return [(ew.add(low, float(i - 1)), weight) for i, weight in enumerate(weights)]


_MODES: Mapping[str, Callable[[Value], list[tuple[Value, Value]]]] = {
    "nearest": _nearest,
    "linear": _linear,
    "bilinear": _linear,
    "cubic": _cubic,
    "bicubic": _cubic,
}
