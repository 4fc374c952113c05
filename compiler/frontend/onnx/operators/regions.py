"""Operators that read images at places which are data."""

from math import prod

from compiler.frontend import graph
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions import linalg, movement
from compiler.frontend.functions.creation import arange_like
from compiler.frontend.functions.indexing import getitem
from compiler.frontend.functions.sampling import Border, sample
from compiler.frontend.functions.spacing import dilate
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Operator
from compiler.ir import INT64


def _grid_sample(call: Call) -> Value:
    x, grid = call.value(0), call.value(1)
    batch, places = grid.shape[0], grid.shape[1:-1]
    aligned = bool(call.attribute("align_corners", 0))
    flat = graph.reshape(grid, (batch, prod(places), grid.shape[-1]))
    columns = movement.unstack(flat, -1)[::-1]  # the grid names the last axis first
    pairs = zip(columns, x.shape[2:], strict=True)
    coordinates = [graph.contiguous(_denormalized(at, n, aligned=aligned)) for at, n in pairs]
    border = Border(call.attribute("padding_mode", "zeros"), 0.0 if aligned else -0.5)
    images = arange_like(coordinates[0], 0)
    found = sample(x, images, coordinates, call.attribute("mode", "linear"), border)
    return graph.reshape(movement.moveaxis(found, -1, 1), (batch, x.shape[1], *places))


def _denormalized(at: Value, size: int, *, aligned: bool) -> Value:
    if aligned:
        return ew.multiply(ew.add(at, 1.0), (size - 1) / 2)
    return ew.divide(ew.subtract(ew.multiply(ew.add(at, 1.0), size), 1.0), 2.0)


def _deform_conv(call: Call) -> Value:
    x, weight, offset = call.value(0), call.value(1), call.value(2)
    kernel, places = weight.shape[2:], offset.shape[2:]
    dims, groups = len(kernel), call.attribute("offset_group", 1)
    batch, channels = x.shape[:2]
    taps_count, out = prod(kernel), prod(places)
    shape = (batch * groups, *kernel, *places)
    moved = movement.unstack(graph.reshape(offset, (batch * groups, taps_count, dims, out)), 2)
    strides = call.attribute("strides", (1,) * dims)
    dilations = call.attribute("dilations", (1,) * dims)
    pads = call.attribute("pads", (0,) * (2 * dims))
    coordinates = []
    for i in range(dims):
        like = graph.full(0, INT64, shape, x.device)
        tap = ew.multiply(arange_like(like, 1 + i), dilations[i])
        place = ew.multiply(arange_like(like, 1 + dims + i), strides[i])
        base = graph.cast(ew.subtract(ew.add(tap, place), pads[i]), x.dtype)
        at = ew.add(
            graph.reshape(base, (batch * groups, taps_count * out)),
            graph.reshape(moved[i], (batch * groups, taps_count * out)),
        )
        coordinates.append(graph.contiguous(at))
    image = graph.reshape(x, (batch * groups, channels // groups, *x.shape[2:]))
    found = sample(image, arange_like(coordinates[0], 0), coordinates, "linear", Border())
    found = graph.reshape(found, (batch, groups, taps_count, out, channels // groups))
    mask = call.optional(4)
    if mask is not None:
        found = ew.multiply(found, graph.reshape(mask, (batch, groups, taps_count, out, 1)))
    columns = graph.permute(found, (0, 1, 4, 2, 3))  # batch group channel tap place
    return _contract(call, graph.contiguous(columns), weight, (batch, *places))


def _contract(call: Call, columns: Value, weight: Value, sizes: tuple[int, ...]) -> Value:
    """Columns (batch, ..., tap, place) times the weights of each group of channels."""
    groups, batch, out = call.attribute("group", 1), sizes[0], columns.shape[-1]
    depth = weight.shape[1] * prod(weight.shape[2:])
    rows = graph.reshape(columns, (batch, groups, depth, out))
    matrix = graph.reshape(weight, (groups, weight.shape[0] // groups, depth))
    result = graph.reshape(linalg.matmul(matrix, rows), (batch, weight.shape[0], *sizes[1:]))
    bias = call.optional(3)
    if bias is None:
        return result
    return ew.add(result, graph.reshape(bias, (bias.size, *([1] * (len(sizes) - 1)))))


def _col2im(call: Call) -> Value:
    """The sum of all blocks, each where it was cut out."""
    x, image, block = call.value(0), call.ints(1) or (), call.ints(2) or ()
    dims = len(image)
    strides = call.attribute("strides", (1,) * dims)
    dilations = call.attribute("dilations", (1,) * dims)
    pads = call.attribute("pads", (0,) * (2 * dims))
    padded = [n + pads[i] + pads[i + dims] for i, n in enumerate(image)]
    counts = [
        (n - (k - 1) * gap - 1) // step + 1
        for n, k, gap, step in zip(padded, block, dilations, strides, strict=True)
    ]
    channels = x.shape[1] // prod(block)
    parts = graph.reshape(x, (x.shape[0], channels, prod(block), *counts))
    total: Value | None = None
    for number, part in enumerate(movement.unstack(parts, 2)):
        widths, left = [(0, 0), (0, 0)], number
        places = []
        for size in reversed(block):
            left, place = divmod(left, size)
            places.append(place)
        for i, place in enumerate(reversed(places)):
            span = (counts[i] - 1) * strides[i] + 1
            part = dilate(part, 2 + i, strides[i], span)
            begin = place * dilations[i]
            widths.append((begin, padded[i] - span - begin))
        piece = movement.pad(part, widths)
        total = piece if total is None else ew.add(total, piece)
    assert total is not None
    cut = [slice(pads[i], pads[i] + n) for i, n in enumerate(image)]
    return getitem(total, (slice(None), slice(None), *cut))


OPERATORS: dict[str, Operator] = {
    "Col2Im": _col2im,
    "DeformConv": _deform_conv,
    "GridSample": _grid_sample,
}
