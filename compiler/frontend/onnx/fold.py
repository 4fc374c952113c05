"""Operators on symbolic sizes: worked out by the host, without losing the symbol.

Models compute shapes by operators (Shape, Gather, Mul, Concat, Reshape). Where one of the numbers
is symbolic, these operators work on arrays of Python numbers here, and the result is remembered
for the lazy value that computes the same. To add an operator: a line in `FOLDS`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call
from compiler.frontend.onnx.known import Numbers, numbers_of, value_of
from compiler.frontend.realize import to_numpy
from compiler.frontend.symbolic import largest, maximum, minimum, smallest
from compiler.ir import BOOL, DType

MOST = 64  # numbers: shapes are short, and what is longer is data


def fold(call: Call) -> Value | None:
    """What an operator makes of symbolic numbers; None where it has to be computed by a kernel."""
    rule = FOLDS.get(call.op)
    if rule is None or not any(
        isinstance(x, Value) and numbers_of(x) is not None for x in call.inputs
    ):
        return None
    given = [_given(x) for x in call.inputs]
    if any(numbers is None for numbers in given):
        return None
    found = rule(call, [numbers for numbers in given if numbers is not None])
    if found is None:
        return None
    array = np.empty(found.shape, object)  # a single number has forgotten that it is an array
    array[...] = found
    return value_of(array, _dtype(call), call.device)


def _dtype(call: Call) -> DType:
    """That of the numbers: of a choice, what is chosen from."""
    if call.op in COMPARISONS:
        return BOOL
    if call.op == "Cast":
        return call.dtype("to")
    return call.value(1 if call.op == "Where" else 0).dtype


def _given(x: object) -> Numbers | None:
    """All numbers of an input that the host knows."""
    if not isinstance(x, Value) or x.size > MOST or not (x.dtype.is_int or x.dtype is BOOL):
        return None
    known = numbers_of(x)
    if known is None and not x.bindings:
        return to_numpy(x).astype(object)
    return known


# --- operators ------------------------------------------------------------------------------------

Rule = Callable[[Call, list[Numbers]], Numbers | None]


def _array(numbers: Any) -> Numbers:  # noqa: ANN401  # NumPy gives an array's only element as such
    found = np.empty(np.shape(numbers), object)
    found[...] = numbers
    return found


def _binary(function: Callable[[int, int], object]) -> Rule:
    each = np.frompyfunc(function, 2, 1)
    return lambda call, given: _array(each(given[0], given[1]))


def _quotient(a: int, b: int) -> int:
    return a // b  # rounds down; ONNX truncates, which is the same for sizes


def _cast(call: Call, given: list[Numbers]) -> Numbers | None:
    dtype = call.dtype("to")
    fits = [dtype.lowest <= smallest(n) and largest(n) <= dtype.highest for n in given[0].flat]
    return given[0] if dtype.is_int and all(fits) else None


def _gather(call: Call, given: list[Numbers]) -> Numbers:
    return _array(given[0].take(given[1].astype(np.int64), call.attribute("axis", 0)))


def _concat(call: Call, given: list[Numbers]) -> Numbers:
    return np.concatenate(given, call.attribute("axis", 0))


def _reshape(call: Call, given: list[Numbers]) -> Numbers:
    return given[0].reshape([int(size) for size in given[1]])


def _unsqueeze(call: Call, given: list[Numbers]) -> Numbers:
    return np.expand_dims(given[0], call.axes() or ())


def _squeeze(call: Call, given: list[Numbers]) -> Numbers:
    return _array(np.squeeze(given[0], call.axes()))


def _slice(call: Call, given: list[Numbers]) -> Numbers | None:
    starts: tuple[int, ...] = call.attributes.get("starts", call.ints(1)) or ()
    ends: tuple[int, ...] = call.attributes.get("ends", call.ints(2)) or ()
    steps = call.ints(4) or (1,)
    if given[0].ndim != 1 or len(starts) != 1:
        return None
    return np.asarray(given[0][slice(starts[0], ends[0], steps[0])])


def _product(call: Call, given: list[Numbers]) -> Numbers | None:
    is_whole = given[0].ndim == 1 and call.axes() in (None, (0,), (-1,))
    if not is_whole:
        return None
    total = np.prod(given[0], keepdims=bool(call.attribute("keepdims", 1)))
    return _array(total)


def _where(call: Call, given: list[Numbers]) -> Numbers:
    return _array(np.where(given[0].astype(bool), given[1], given[2]))


COMPARISONS = ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
FOLDS: Mapping[str, Rule] = {
    "Add": _binary(lambda a, b: a + b),
    "Cast": _cast,
    "Concat": _concat,
    "Div": _binary(_quotient),
    "Equal": _binary(lambda a, b: a == b),
    "Gather": _gather,
    "Greater": _binary(lambda a, b: a > b),
    "GreaterOrEqual": _binary(lambda a, b: a >= b),
    "Identity": lambda call, given: given[0],
    "Less": _binary(lambda a, b: a < b),
    "LessOrEqual": _binary(lambda a, b: a <= b),
    "Max": _binary(maximum),
    "Min": _binary(minimum),
    "Mod": _binary(lambda a, b: a % b),
    "Mul": _binary(lambda a, b: a * b),
    "ReduceProd": _product,
    "Reshape": _reshape,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": _binary(lambda a, b: a - b),
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
