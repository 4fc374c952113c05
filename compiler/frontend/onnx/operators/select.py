"""Operators that read and write at places which are data, and those whose shape is data."""

from compiler.frontend import graph
from compiler.frontend.functions import division, movement, reduce
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions.creation import arange_like, counting
from compiler.frontend.functions.gathering import along_axis, rows_at
from compiler.frontend.functions.indexing import getitem, take
from compiler.frontend.functions.positions import positions
from compiler.frontend.functions.sorting import topk
from compiler.frontend.functions.update import update_along, update_nd
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Operator
from compiler.frontend.onnx.operators.overlap import suppress
from compiler.frontend.operands import broadcast_to
from compiler.frontend.shapes import as_axis
from compiler.ir import BOOL, INT64, Op

_REDUCTIONS = {"none": None, "add": Op.ADD, "mul": Op.MUL, "max": Op.MAX, "min": Op.MIN}


def _gather(call: Call) -> Value:
    return take(call.value(0), call.value(1), call.attribute("axis", 0))


def _gather_elements(call: Call) -> Value:
    x = call.value(0)
    return along_axis(x, call.value(1), as_axis(call.attribute("axis", 0), x.ndim))


def _columns(indices: Value) -> tuple[Value, ...]:
    return movement.unstack(indices, -1)


def _gather_nd(call: Call) -> Value:
    x, indices = call.value(0), call.value(1)
    batch = call.attribute("batch_dims", 0)
    columns = _columns(indices)
    places = [*[arange_like(columns[0], i) for i in range(batch)], *columns]
    return rows_at(x, list(enumerate(places)), columns[0].shape)


def _op(call: Call) -> Op | None:
    return _REDUCTIONS[call.attribute("reduction", "none")]


def _scatter_elements(call: Call) -> Value:
    x = call.value(0)
    axis = as_axis(call.attribute("axis", 0), x.ndim)
    return update_along(x, call.value(1), call.value(2), axis, _op(call))


def _scatter_nd(call: Call) -> Value:
    return update_nd(call.value(0), call.value(1), call.value(2), _op(call))


def _tensor_scatter(call: Call) -> Value:
    """Writes a chunk into a cache, batch by batch, from a position of its own on."""
    x, update = call.value(0), call.value(1)
    axis = as_axis(call.attribute("axis", -2), x.ndim)
    indices = arange_like(update, axis)
    start = call.optional(2)
    if start is not None:
        column = graph.reshape(start, (start.size, *([1] * (x.ndim - 1))))
        indices = ew.add(indices, column)
    if call.attribute("mode", "linear") == "circular":
        indices = division.remainder(indices, x.shape[axis])
    return update_along(x, indices, update, axis, None)


def _one_hot(call: Call) -> Value:
    indices, depth = call.value(0), int(call.numbers(1)[0])
    values = call.value(2)
    axis = as_axis(call.attribute("axis", -1), indices.ndim + 1)
    wanted = graph.cast(movement.expand_dims(indices, axis), INT64)
    wanted = ew.where(ew.less(wanted, 0), ew.add(wanted, depth), wanted)
    shape = (*indices.shape[:axis], depth, *indices.shape[axis:])
    hits = ew.equal(
        broadcast_to(wanted, shape), arange_like(graph.full(0, BOOL, shape, call.device), axis)
    )
    return ew.where(hits, getitem(values, 1), getitem(values, 0))


def _compress(call: Call) -> Value:
    x, mask = call.value(0), graph.cast(call.value(1), BOOL)
    axis = call.attributes.get("axis")
    return take(x, positions(mask), axis)


def _non_zero(call: Call) -> Value:
    x = call.value(0)
    flat = positions(graph.reshape(graph.cast(x, BOOL), (x.size,)))
    if x.ndim == 0:  # no axis has a place, but there is one element or none: (0, n), not NumPy's
        return graph.full(0, INT64, (0, flat.size), x.device)
    places = []
    for size in reversed(x.shape):
        places.append(division.remainder(flat, size))
        flat = division.floor_divide(flat, size)
    return movement.stack(places[::-1])


def _top_k(call: Call) -> tuple[Value, Value]:
    x = call.value(0)
    k = int(call.attributes["k"] if "k" in call.attributes else call.numbers(1)[0])
    axis = as_axis(call.attribute("axis", -1), x.ndim)
    return topk(x, k, axis, largest=bool(call.attribute("largest", 1)))


def _unique(call: Call) -> tuple[Value, ...]:
    """Groups of equal rows: the first of each, which group each is in, how many are in each."""
    x, axis = call.value(0), call.attributes.get("axis")
    along = None if axis is None else as_axis(axis, x.ndim)
    turned = graph.reshape(x, (x.size, 1)) if along is None else movement.moveaxis(x, along, 0)
    rows = graph.contiguous(
        graph.reshape(turned, (turned.shape[0], -(-x.size // max(turned.shape[0], 1))))
    )
    n = rows.shape[0]
    is_less, is_equal = _compared(rows)
    places = graph.expand(graph.reshape(counting(n, x.device, INT64), (1, n)), (n, n))
    first = graph.contiguous(reduce.min_(ew.where(is_equal, places, n), 1))
    is_first = graph.contiguous(ew.equal(first, counting(n, x.device, INT64)))
    marks = graph.expand(graph.reshape(is_first, (1, n)), (n, n))
    if call.attribute("sorted", 1):
        group = reduce.sum_(ew.logical_and(marks, is_less), 1)
    else:
        earlier = ew.less(places, graph.reshape(first, (n, 1)))
        group = reduce.sum_(ew.logical_and(marks, earlier), 1)
    group = graph.contiguous(group)
    total = positions(is_first).size
    hits = ew.equal(
        graph.reshape(group, (1, n)), graph.reshape(counting(total, x.device, INT64), (total, 1))
    )
    firsts = graph.contiguous(reduce.min_(ew.where(hits, counting(n, x.device, INT64), n), 1))
    return take(x, firsts, along), firsts, group, reduce.sum_(hits, 1)


def _compared(rows: Value) -> tuple[Value, Value]:
    """[i, j]: whether row j is less than row i, and whether they are equal."""
    n, m = rows.shape
    mine = graph.expand(graph.reshape(rows, (n, 1, m)), (n, n, m))
    other = graph.expand(graph.reshape(rows, (1, n, m)), (n, n, m))
    at = arange_like(mine, 2)
    differs = ew.where(ew.not_equal(mine, other), at, m)
    first = graph.contiguous(reduce.min_(differs, 2, keepdims=True))
    is_less = reduce.any_(ew.logical_and(ew.equal(at, first), ew.less(other, mine)), 2)
    return graph.contiguous(is_less), ew.equal(graph.reshape(first, (n, n)), m)


def _non_max_suppression(call: Call) -> Value:
    limit = int(call.number(2, 0))
    return suppress(
        call.value(0),
        call.value(1),
        most=limit,
        overlap=float(call.number(3, 0.0)),
        score=call.number(4, 0.0) if call.item(4) is not None else None,
        is_centred=bool(call.attribute("center_point_box", 0)),
    )


def _array_feature_extractor(call: Call) -> Value:
    return take(call.value(0), graph.reshape(call.value(1), (call.value(1).size,)), -1)


def _reverse_sequence(call: Call) -> Value:
    x, lengths = call.value(0), call.value(1)
    time, batch = call.attribute("time_axis", 0), call.attribute("batch_axis", 1)
    at = graph.cast(arange_like(x, time), INT64)
    shape = [1] * x.ndim
    shape[batch] = lengths.size
    length = broadcast_to(graph.reshape(lengths, tuple(shape)), x.shape)
    back = ew.subtract(ew.subtract(length, 1), at)
    return along_axis(x, ew.where(ew.less(at, length), back, at), time)


def _max_unpool(call: Call) -> Value:
    """Positions count in the smallest image that pooling would have made these elements of."""
    x, indices = call.value(0), call.value(1)
    kernel: tuple[int, ...] = call.attribute("kernel_shape", ())
    strides = call.attribute("strides", (1,) * len(kernel))
    pads = call.attribute("pads", (0,) * (2 * len(kernel)))
    sizes = zip(x.shape[2:], strides, kernel, range(len(kernel)), strict=True)
    spatial = [(n - 1) * s + k - pads[i] - pads[i + len(kernel)] for n, s, k, i in sizes]
    shape = (*x.shape[:2], *spatial)
    empty = graph.full(0, x.dtype, (_size(shape),), call.device)
    flat = (x.size,)
    found = update_along(empty, graph.reshape(indices, flat), graph.reshape(x, flat), 0, None)
    image = graph.reshape(found, shape)
    wanted = call.ints(2) or shape
    return graph.pad(image, tuple([(0, b - a) for a, b in zip(shape, wanted, strict=True)]))


def _size(shape: tuple[int, ...]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


OPERATORS: dict[str, Operator] = {
    "ai.onnx.ml.ArrayFeatureExtractor": _array_feature_extractor,
    "Compress": _compress,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "MaxUnpool": _max_unpool,
    "NonMaxSuppression": _non_max_suppression,
    "NonZero": _non_zero,
    "OneHot": _one_hot,
    "ReverseSequence": _reverse_sequence,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "TensorScatter": _tensor_scatter,
    "TopK": _top_k,
    "Unique": _unique,
}
