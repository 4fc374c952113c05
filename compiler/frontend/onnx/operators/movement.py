"""Operators that move elements."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.frontend import graph
from compiler.frontend.functions import movement
from compiler.frontend.functions.creation import tril, triu
from compiler.frontend.functions.indexing import getitem, take
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Item, Operator
from compiler.frontend.operands import broadcast_to
from compiler.frontend.shapes import as_axis, broadcast
from compiler.frontend.storage import from_array
from compiler.frontend.symbolic import is_symbolic


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
    elif not any(is_symbolic(n) for n in (*sizes, x.shape[axis])) and sum(sizes) != x.shape[axis]:
        raise call.error(f"parts of {list(sizes)} of an axis of {x.shape[axis]}: need to be all")
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
    """ONNX counts from the back, too, but backwards starts before the first are the first,
    and only an end before it takes it, where Python's take nothing.
    """
    if step > 0:
        return slice(start, end, step)
    return slice(-size if start < -size else start, None if end < -size else end, step)


def _expand(call: Call) -> Value:
    x = call.value(0)
    return broadcast_to(x, broadcast(x.shape, call.ints(1) or ()))


def _tile(call: Call) -> Value:
    return movement.tile(call.value(0), call.ints(1) or ())


def _pad(call: Call) -> Value:
    x = call.value(0)
    mode = call.attribute("mode", "constant")
    widths = call.attributes.get("pads") or call.attributes.get("paddings") or call.ints(1) or ()
    axes = call.ints(3) or tuple(range(x.ndim))
    pairs = [(0, 0)] * x.ndim
    for i, axis in enumerate(axes):
        pairs[as_axis(axis, x.ndim)] = (widths[i], widths[i + len(axes)])
    bounds = [(max(0, -a), n - max(0, -b)) for n, (a, b) in zip(x.shape, pairs, strict=True)]
    cut = getitem(x, tuple([slice(a, b) for a, b in bounds]))
    around = [(max(0, a), max(0, b)) for a, b in pairs]
    if mode != "constant":
        return _continued(cut, around, mode)
    filler = call.optional(2)
    value = call.attribute("value", 0.0) if filler is None else _number(call, 2)
    return movement.pad(cut, around, value)


def _continued(x: Value, pairs: Sequence[tuple[int, int]], mode: str) -> Value:
    """Padding that repeats the border, mirrors at it, or begins anew. Positions are the host's."""
    for axis, widths in enumerate(pairs):
        if widths != (0, 0):
            places = np.pad(np.arange(x.shape[axis], dtype=np.int32), widths, _PAD_MODES[mode])
            x = take(x, from_array(places, x.device), axis)
    return x


_PAD_MODES: dict[str, Any] = {"edge": "edge", "reflect": "reflect", "wrap": "wrap"}


def _number(call: Call, index: int) -> float:
    from_input = call.numbers(index)
    return from_input[0] if from_input else 0.0


def _identity(call: Call) -> Item:
    return call.item(0)


def _depth_to_space(call: Call) -> Value:
    x, block = call.value(0), call.attribute("blocksize", 1)
    n, c, h, w = x.shape
    inner = c // (block * block)
    if call.attribute("mode", "DCR") == "DCR":
        parts = graph.reshape(x, (n, block, block, inner, h, w))
        turned = graph.permute(parts, (0, 3, 4, 1, 5, 2))
    else:
        parts = graph.reshape(x, (n, inner, block, block, h, w))
        turned = graph.permute(parts, (0, 1, 4, 2, 5, 3))
    return graph.reshape(turned, (n, inner, h * block, w * block))


def _space_to_depth(call: Call) -> Value:
    x, block = call.value(0), call.attribute("blocksize", 1)
    n, c, h, w = x.shape
    parts = graph.reshape(x, (n, c, h // block, block, w // block, block))
    order = (0, 1, 3, 5, 2, 4) if call.attribute("mode", "DCR") == "CRD" else (0, 3, 5, 1, 2, 4)
    shape = (n, c * block * block, h // block, w // block)
    return graph.reshape(graph.permute(parts, order), shape)


def _trilu(call: Call) -> Value:
    x, k = call.value(0), int(call.number(1, 0))
    if x.size == 0:
        return x
    return triu(x, k) if call.attribute("upper", 1) else tril(x, k)


OPERATORS: dict[str, Operator] = {
    "Concat": _concat,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "Flatten": _flatten,
    "Identity": _identity,
    "Pad": _pad,
    "Reshape": _reshape,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Trilu": _trilu,
    "Unsqueeze": _unsqueeze,
}
