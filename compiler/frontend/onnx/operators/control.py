"""Operators with graphs inside: what is not known before something ran is computed, then read."""

from collections.abc import Sequence

import numpy as np

from compiler.frontend import graph
from compiler.frontend.functions import movement
from compiler.frontend.functions.steps import row
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Item, Operator
from compiler.frontend.onnx.model import Graph
from compiler.frontend.realize import realize, to_numpy
from compiler.frontend.shapes import as_axis
from compiler.frontend.storage import from_array

_ENDLESS = 2**63 - 1


def _if(call: Call) -> tuple[Item, ...]:
    branch = "then_branch" if call.only(0) else "else_branch"
    return call.evaluate(call.graph(branch), ())


def _loop(call: Call) -> tuple[Item, ...]:
    """Carried values are computed after each round: the condition needs them anyway."""
    body = call.graph("body")
    limit = _ENDLESS if call.optional(0) is None else int(call.only(0))
    state, count = call.inputs[2:], len(call.inputs) - 2
    rounds: list[tuple[Item, ...]] = []
    goes_on = call.optional(1) is None or bool(call.only(1))
    while goes_on and len(rounds) < limit:
        found = _computed(_round(call, body, len(rounds), state, goes_on=goes_on))
        if len(found) <= count:
            raise call.error(f"its graph makes {len(found)} outputs, carries {count} and one more")
        goes_on = bool(to_numpy(_tensor(call, found[0])).item())
        state = found[1 : 1 + count]
        rounds.append(found[1 + count :])
    if not rounds and len(body.outputs) == 1 + count:
        return tuple(state)
    if not rounds:
        never = _round(call, body, 0, state, goes_on=goes_on)  # for its shapes, it is not computed
        return (*state, *[_none_of(call, item, 0) for item in never[1 + count :]])
    stacked = [
        movement.stack([_tensor(call, x) for x in column]) for column in zip(*rounds, strict=True)
    ]
    return (*state, *stacked)


def _round(
    call: Call, body: Graph, number: int, state: Sequence[Item], *, goes_on: bool
) -> tuple[Item, ...]:
    place = from_array(np.asarray(number, np.int64), call.device)
    going = from_array(np.asarray(goes_on), call.device)
    return call.evaluate(body, (place, going, *state))


def _none_of(call: Call, item: Item, axis: int) -> Value:
    """No such items, one after the other along a new axis."""
    x = _tensor(call, item)
    place = as_axis(axis, x.ndim + 1)
    return graph.full(0, x.dtype, (*x.shape[:place], 0, *x.shape[place:]), x.device)


def _computed(items: Sequence[Item]) -> tuple[Item, ...]:
    """The same items in memory, without the graphs that led to them."""
    values = [item for item in items if isinstance(item, Value)]
    found = iter(realize(values))
    return tuple([next(found) if isinstance(item, Value) else item for item in items])


def _tensor(call: Call, item: Item) -> Value:
    if not isinstance(item, Value):
        raise call.error("a condition or an output of every round is no tensor")
    return item


def _scan(call: Call) -> tuple[Item, ...]:
    if call.opset < 9:
        return _scan_of_batches(call)
    return _scanned(call, call.values())


def _scan_of_batches(call: Call) -> tuple[Item, ...]:
    """Opset 8: the first input gives lengths, the first axis is the batch."""
    if call.item(0) is not None:
        raise call.error("sequence lengths are not supported")
    given = call.values(1)
    parts = []
    for i in range(given[0].shape[0]):
        found = _scanned(call, [row(x, 0, i) for x in given])
        parts.append([_tensor(call, item) for item in found])
    return tuple([movement.stack(column) for column in zip(*parts, strict=True)])


def _scanned(call: Call, given: Sequence[Value]) -> tuple[Item, ...]:
    body, count = call.graph("body"), int(call.attribute("num_scan_inputs", 1))
    state: tuple[Item, ...] = tuple(given[: len(given) - count])
    scanned = given[len(given) - count :]
    axes = call.attribute("scan_input_axes", (0,) * count)
    forwards = (0,) * count
    backwards = call.attribute("scan_input_directions", call.attribute("directions", forwards))
    axes = tuple([as_axis(axis, x.ndim) for axis, x in zip(axes, scanned, strict=True)])
    lengths = [x.shape[axis] for axis, x in zip(axes, scanned, strict=True)]
    length = lengths[0]
    if any(other != length for other in lengths):
        raise call.error(f"scans inputs of {lengths} rows, they have to be as many")
    if length == 0:
        return (*state, *_nothing(call, body, state, scanned, axes))
    rounds: list[tuple[Item, ...]] = []
    for i in range(length):
        places = [length - 1 - i if is_back else i for is_back in backwards]
        rows = [row(*item) for item in zip(scanned, axes, places, strict=True)]
        found = call.evaluate(body, (*state, *rows))
        state = found[: len(state)]
        rounds.append(found[len(state) :])
    outputs = [[_tensor(call, item) for item in column] for column in zip(*rounds, strict=True)]
    return (*state, *_stacked(call, outputs))


def _nothing(
    call: Call, body: Graph, state: Sequence[Item], scanned: Sequence[Value], axes: Sequence[int]
) -> list[Value]:
    """The outputs where there is no row: as wide as those of a row of zeros would be."""
    rows = []
    for x, axis in zip(scanned, axes, strict=True):
        shape = (*x.shape[:axis], *x.shape[axis + 1 :])
        rows.append(graph.full(0, x.dtype, shape, x.device))
    made = call.evaluate(body, (*state, *rows))[len(state) :]
    places = call.attribute("scan_output_axes", (0,) * len(made))
    return [_none_of(call, item, place) for item, place in zip(made, places, strict=True)]


def _stacked(call: Call, outputs: Sequence[list[Value]]) -> list[Value]:
    axes = call.attribute("scan_output_axes", (0,) * len(outputs))
    backwards = call.attribute("scan_output_directions", (0,) * len(outputs))
    return [
        movement.stack(column[::-1] if is_back else column, axis)
        for column, axis, is_back in zip(outputs, axes, backwards, strict=True)
    ]


OPERATORS: dict[str, Operator] = {"If": _if, "Loop": _loop, "Scan": _scan}
