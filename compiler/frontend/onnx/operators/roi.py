"""RoiAlign: regions of an image, each sampled on a grid of its own and pooled into bins."""

from dataclasses import dataclass
from functools import reduce as fold
from math import prod

from compiler.frontend import graph
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions import movement, reduce
from compiler.frontend.functions.creation import arange_like
from compiler.frontend.functions.indexing import getitem
from compiler.frontend.functions.sampling import Border, taps
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Operator
from compiler.frontend.operands import broadcast_to
from compiler.frontend.realize import to_numpy


def _roi_align(call: Call) -> Value:
    rois = call.value(1)
    high, wide = call.attribute("output_height", 1), call.attribute("output_width", 1)
    default = "half_pixel" if call.opset >= 16 else "output_half_pixel"
    is_half = call.attribute("coordinate_transformation_mode", default) == "half_pixel"
    scaled = ew.multiply(rois, float(call.attribute("spatial_scale", 1.0)))
    corners = ew.subtract(scaled, 0.5) if is_half else scaled
    left, top, right, bottom = movement.unstack(corners, 1)
    ratio = int(call.attribute("sampling_ratio", 0))
    rows = _samples(top, bottom, high, ratio, is_half=is_half)
    columns = _samples(left, right, wide, ratio, is_half=is_half)
    is_average = call.attribute("mode", "avg").lower() == "avg"
    pixels = _pixels(call, rows.at, columns.at, is_average=is_average)
    there = ew.logical_and(_spread(rows.is_there, 1), _spread(columns.is_there, 3))
    there = graph.reshape(there, (*there.shape, 1))
    if is_average:
        total = reduce.sum_(ew.where(there, pixels, ew.constant(pixels, 0)), (2, 4))
        count = reduce.sum_(graph.cast(there, pixels.dtype), (2, 4))
        result = ew.divide(total, ew.maximum(count, 1.0))
    else:
        lowest = ew.constant(pixels, pixels.dtype.lowest)
        result = reduce.max_(ew.where(there, pixels, lowest), (2, 4))
    return movement.moveaxis(result, -1, 1)


def _spread(x: Value, axis: int) -> Value:
    """(roi, bin, sample) as axes 0, `axis` and the next one of five."""
    shape = [x.shape[0], 1, 1, 1, 1]
    shape[axis : axis + 2] = x.shape[1:]
    return graph.reshape(x, tuple(shape))


def _pixels(call: Call, rows: Value, columns: Value, *, is_average: bool) -> Value:
    """(roi, row bin, row sample, column bin, column sample, channel); 0 far outside the image.

    Of the four pixels around a sample the average counts them all by their weights; the greatest
    is that of the weighted pixels, as ONNX has it.
    """
    x = call.value(0)
    shape = (*rows.shape, *columns.shape[1:])
    ys, xs = broadcast_to(_spread(rows, 1), shape), broadcast_to(_spread(columns, 3), shape)
    is_near = ew.logical_and(_reaches(ys, x.shape[2]), _reaches(xs, x.shape[3]))
    images = broadcast_to(graph.reshape(call.value(2), (shape[0], 1, 1, 1, 1)), shape)
    flat = (shape[0], prod(shape[1:]))
    at = [graph.contiguous(graph.reshape(value, flat)) for value in (ys, xs)]
    found = taps(x, graph.reshape(images, flat), at, "linear", Border("border"))
    terms = [ew.multiply(graph.reshape(tap.weight, (*flat, 1)), tap.pixels) for tap in found]
    whole = fold(ew.add if is_average else ew.maximum, terms)
    whole = graph.contiguous(graph.reshape(whole, (*shape, x.shape[1])))
    return ew.where(graph.reshape(is_near, (*shape, 1)), whole, ew.constant(whole, 0))


def _reaches(at: Value, size: int) -> Value:
    return ew.logical_and(ew.greater_equal(at, -1.0), ew.less_equal(at, float(size)))


@dataclass(frozen=True, slots=True)
class _Samples:
    """Where one axis is sampled: positions (roi, bin, sample), and which samples count."""

    at: Value
    is_there: Value  # (roi, 1, sample)


def _samples(low: Value, high: Value, count: int, ratio: int, *, is_half: bool) -> _Samples:
    """`ratio` samples a bin; without it as many as a bin has pixels, which the region decides."""
    size = ew.subtract(high, low)
    size = size if is_half else ew.maximum(size, 1.0)
    width = ew.divide(size, float(count))
    samples = ew.constant(width, float(ratio)) if ratio > 0 else ew.ceil(width)
    most = ratio if ratio > 0 else max(int(to_numpy(reduce.max_(samples)).item()), 1)
    shape = (low.size, count, most)
    width, start, number = [
        broadcast_to(graph.reshape(value, (low.size, 1, 1)), shape)
        for value in (width, low, samples)
    ]
    bin_at = graph.cast(arange_like(width, 1), low.dtype)
    sample_at = graph.cast(arange_like(width, 2), low.dtype)
    inside = ew.divide(ew.multiply(ew.add(sample_at, 0.5), width), number)
    place = ew.add(ew.add(start, ew.multiply(bin_at, width)), inside)
    there = ew.less(
        getitem(sample_at, (slice(None), slice(0, 1))), getitem(number, (slice(None), slice(0, 1)))
    )
    return _Samples(place, there)


OPERATORS: dict[str, Operator] = {"RoiAlign": _roi_align}
