"""Operators that move elements."""

from compiler.errors import ModelError
from compiler.frontend.functions import movement
from compiler.frontend.functions.indexing import getitem, take
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Operator
from compiler.frontend.operands import broadcast_to
from compiler.frontend.shapes import as_axis, broadcast


def _reshape(call: Call) -> Value:
    x = call.value(0)
    shape = call.attributes.get("shape", call.ints(1)) or ()
    keeps_zero = not call.attribute("allowzero", 0)
    sizes = [x.shape[i] if n == 0 and keeps_zero else n for i, n in enumerate(shape)]
    return movement.reshape(x, tuple(sizes))


def _transpose(call: Call) -> Value:
    return movement.permute_dims(call.value(0), *call.attribute("perm", ()))


def _unsqueeze(call: Call) -> Value:
    return movement.expand_dims(call.value(0), call.axes() or ())


def _squeeze(call: Call) -> Value:
    return movement.squeeze(call.value(0), call.axes())


def _flatten(call: Call) -> Value:
    x = call.value(0)
    axis = call.attribute("axis", 1)
    at = axis if axis == x.ndim else as_axis(axis, x.ndim)
    rows = 1
    for size in x.shape[:at]:
        rows *= size
    return movement.reshape(x, (rows, x.size // rows if rows else 0))


def _concat(call: Call) -> Value:
    return movement.concat(call.values(), call.attribute("axis", 1))


def _split(call: Call) -> tuple[Value, ...]:
    x, axis = call.value(0), as_axis(call.attribute("axis", 0), call.value(0).ndim)
    sizes = call.attributes.get("split", call.ints(1))
    if sizes is None:
        count = call.attribute("num_outputs", call.outputs)
        chunk = -(-x.shape[axis] // count)
        sizes = (chunk,) * count
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
    return movement.split(x, tuple(ends), axis)


def _slice(call: Call) -> Value:
    x = call.value(0)
    starts = call.attributes.get("starts", call.ints(1))
    ends = call.attributes.get("ends", call.ints(2))
    axes = call.axes(3)
    steps = call.ints(4) or (1,) * len(starts)
    items: list[slice] = [slice(None)] * x.ndim
    places = range(len(starts)) if axes is None else axes
    for axis, start, end, step in zip(places, starts, ends, steps, strict=True):
        place = as_axis(axis, x.ndim)
        items[place] = _span(start, end, step, x.shape[place])
    return getitem(x, tuple(items))


def _span(start: int, end: int, step: int, size: int) -> slice:
    """ONNX counts a negative end from the back, but one below -size means before the start."""
    if step < 0 and end < -size:
        return slice(start, None, step)
    return slice(start, end, step)


def _expand(call: Call) -> Value:
    x = call.value(0)
    return broadcast_to(x, broadcast(x.shape, call.ints(1) or ()))


def _tile(call: Call) -> Value:
    return movement.tile(call.value(0), call.ints(1) or ())


def _gather(call: Call) -> Value:
    return take(call.value(0), call.value(1), call.attribute("axis", 0))


def _pad(call: Call) -> Value:
    x = call.value(0)
    mode = call.attribute("mode", "constant")
    if mode != "constant":
        raise ModelError(f"Pad {call.name}: mode {mode} is not supported, only constant")
    widths = call.attributes.get("pads", call.ints(1)) or ()
    filler = call.optional(2)
    value = call.attribute("value", 0.0) if filler is None else _number(call, 2)
    axes = call.ints(3) or tuple(range(x.ndim))
    pairs = [(0, 0)] * x.ndim
    for i, axis in enumerate(axes):
        pairs[as_axis(axis, x.ndim)] = (widths[i], widths[i + len(axes)])
    bounds = [(max(0, -a), n - max(0, -b)) for n, (a, b) in zip(x.shape, pairs, strict=True)]
    cut = getitem(x, tuple([slice(a, b) for a, b in bounds]))
    return movement.pad(cut, [(max(0, a), max(0, b)) for a, b in pairs], value)


def _number(call: Call, index: int) -> float:
    from_input = call.numbers(index)
    return from_input[0] if from_input else 0.0


def _identity(call: Call) -> Value:
    return call.value(0)


OPERATORS: dict[str, Operator] = {
    "Concat": _concat,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "Identity": _identity,
    "Pad": _pad,
    "Reshape": _reshape,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
