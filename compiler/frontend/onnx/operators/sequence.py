"""Sequences and optionals: bookkeeping of the host, no elements are touched."""

from compiler.frontend.functions import movement
from compiler.frontend.functions.creation import full
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Item, Operator, Series
from compiler.frontend.shapes import as_axis


def _construct(call: Call) -> Series:
    return Series(call.values())


def _empty(call: Call) -> Series:
    return Series(())


def _place(call: Call, index: int, size: int) -> int:
    """A position, counted from the end where it is negative."""
    place = int(call.number(index, size))
    if not -size <= place <= size:
        raise call.error(f"position {place} in a sequence of {size}")
    return place + size if place < 0 else place


def _insert(call: Call) -> Series:
    items = call.series(0).items
    at = _place(call, 2, len(items))
    return Series((*items[:at], call.value(1), *items[at:]))


def _erase(call: Call) -> Series:
    items = call.series(0).items
    at = len(items) - 1 if call.item(1) is None else _place(call, 1, len(items))
    return Series((*items[:at], *items[at + 1 :]))


def _at(call: Call) -> Value:
    items = call.series(0).items
    place = _place(call, 1, len(items))
    if place == len(items):
        raise call.error(f"position {place} in a sequence of {len(items)}")
    return items[place]


def _length(call: Call) -> Value:
    return full((), len(call.series(0).items), dtype="int64", device=call.device)


def _concat(call: Call) -> Value:
    items, axis = call.series(0).items, call.attribute("axis", 0)
    if call.attribute("new_axis", 0):
        return movement.stack(items, axis)
    return movement.concat(items, axis)


def _split(call: Call) -> Series:
    x = call.value(0)
    axis = as_axis(call.attribute("axis", 0), x.ndim)
    given = call.ints(1)
    size = x.shape[axis]
    if given is None:
        parts = movement.split(x, tuple(range(1, size)), axis)
        keeps = bool(call.attribute("keepdims", 1))
        return Series(parts if keeps else tuple([movement.squeeze(p, axis) for p in parts]))
    if call.value(1).ndim == 0:
        ends = tuple(range(given[0], size, given[0]))
    else:
        ends = tuple([sum(given[: i + 1]) for i in range(len(given) - 1)])
    return Series(movement.split(x, ends, axis))


def _optional(call: Call) -> Item:
    return call.item(0)


def _get_element(call: Call) -> Item:
    found = call.item(0)
    if found is None:
        raise call.error("there is nothing in the optional")
    return found


def _has_element(call: Call) -> Value:
    return full((), call.item(0) is not None, dtype="bool", device=call.device)


OPERATORS: dict[str, Operator] = {
    "ConcatFromSequence": _concat,
    "Optional": _optional,
    "OptionalGetElement": _get_element,
    "OptionalHasElement": _has_element,
    "SequenceAt": _at,
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceErase": _erase,
    "SequenceInsert": _insert,
    "SequenceLength": _length,
    "SplitToSequence": _split,
}
