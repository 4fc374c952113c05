"""Reductions. 16-bit floats are accumulated in float32 and rounded once. Names are NumPy's."""

from compiler.errors import DTypeError, ShapeError
from compiler.frontend import dtypes, graph
from compiler.frontend.dtypes import DTypeLike
from compiler.frontend.formulas import known, weighed
from compiler.frontend.functions.creation import arange_like
from compiler.frontend.functions.elementwise import (
    add,
    constant,
    divide,
    equal,
    isinf,
    isnan,
    logical_or,
    multiply,
    square,
    subtract,
    where,
)
from compiler.frontend.functions.floats import as_float, exp, log, sqrt
from compiler.frontend.graph import Shape, Value
from compiler.frontend.operands import broadcast_to
from compiler.frontend.shapes import Axes, as_axes, as_axis, as_number
from compiler.frontend.symbolic import BoundSize, is_symbolic, maximum
from compiler.ir import BOOL, FLOAT64, INT64, DType, Op


def _shape(x: Value, axes: tuple[int, ...], *, keepdims: bool) -> Shape:
    if keepdims:
        return tuple([1 if i in axes else size for i, size in enumerate(x.shape)])
    return tuple([size for i, size in enumerate(x.shape) if i not in axes])


def _fold(op: Op, x: Value, axis: Axes, *, keepdims: bool) -> Value:
    axes = as_axes(axis, x.ndim)
    folded = graph.reduce(op, x, tuple(sorted(axes)))
    return graph.reshape(folded, _shape(x, axes, keepdims=keepdims))


def _accumulate(op: Op, x: Value, axis: Axes, dtype: DTypeLike | None, *, keepdims: bool) -> Value:
    result = dtypes.sum_of(x.dtype) if dtype is None else dtypes.as_dtype(dtype)
    if result is BOOL:
        raise DTypeError(f"{op.name.lower()} reduction to bool: use any or all")
    wide = graph.cast(x, dtypes.accumulator(result))
    return graph.cast(_fold(op, wide, axis, keepdims=keepdims), result)


def sum_(
    x: Value, axis: Axes = None, *, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Value:
    """The sum; 0 of nothing."""
    return _accumulate(Op.ADD, x, axis, dtype, keepdims=keepdims)


def prod(
    x: Value, axis: Axes = None, *, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Value:
    """The product; 1 of nothing."""
    return _accumulate(Op.MUL, x, axis, dtype, keepdims=keepdims)


def max_(x: Value, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """The greatest element. Raises ShapeError over an axis without elements."""
    _require_elements("max", x, as_axes(axis, x.ndim))
    return _fold(Op.MAX, x, axis, keepdims=keepdims)


def min_(x: Value, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """The smallest element. Raises ShapeError over an axis without elements."""
    _require_elements("min", x, as_axes(axis, x.ndim))
    return _fold(Op.MIN, x, axis, keepdims=keepdims)


def _require_elements(name: str, x: Value, axes: tuple[int, ...]) -> None:
    if any(x.shape[axis] < 1 for axis in axes):
        raise ShapeError(f"{name} of shape {x.shape} over axes {axes}: has no elements to compare")


def is_extreme(x: Value, extreme: Value) -> Value:
    """Which elements a MAX or MIN that gave `extreme` chose: those that equal it, or are NaN."""
    is_equal = equal(x, extreme)
    return logical_or(is_equal, isnan(x)) if x.dtype.is_float else is_equal


def any_(x: Value, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """Whether one is true; False of nothing."""
    return _fold(Op.OR, graph.cast(x, BOOL), axis, keepdims=keepdims)


def all_(x: Value, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """Whether all are true; True of nothing."""
    return _fold(Op.AND, graph.cast(x, BOOL), axis, keepdims=keepdims)


def _count(x: Value, axes: tuple[int, ...]) -> float:
    """How many elements lie along these axes; a symbolic size stays one."""
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    return count if is_symbolic(count) else float(count)


def mean(
    x: Value, axis: Axes = None, *, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Value:
    """The average; NaN of nothing. Integers give float64."""
    result = _mean_dtype(x, dtype)
    wide = graph.cast(x, dtypes.accumulator(result))
    total = _fold(Op.ADD, wide, axis, keepdims=keepdims)
    return graph.cast(divide(total, _count(x, as_axes(axis, x.ndim))), result)


def _mean_dtype(x: Value, dtype: DTypeLike | None) -> DType:
    if dtype is not None:
        return dtypes.as_dtype(dtype)
    return x.dtype if x.dtype.is_float else FLOAT64


def var(x: Value, axis: Axes = None, *, correction: float = 0, keepdims: bool = False) -> Value:
    """The mean squared distance from the mean, over n - correction. In two passes."""
    result = _mean_dtype(x, None)
    wide = graph.cast(x, dtypes.accumulator(result))
    return graph.cast(_variance(wide, axis, correction, keepdims=keepdims), result)


def std(x: Value, axis: Axes = None, *, correction: float = 0, keepdims: bool = False) -> Value:
    """The square root of the variance."""
    result = _mean_dtype(x, None)
    wide = graph.cast(x, dtypes.accumulator(result))
    return graph.cast(sqrt(_variance(wide, axis, correction, keepdims=keepdims)), result)


def _variance(x: Value, axis: Axes, correction: float, *, keepdims: bool) -> Value:
    distance = subtract(x, mean(x, axis, keepdims=True))
    total = _fold(Op.ADD, square(distance), axis, keepdims=keepdims)
    count, less = _count(x, as_axes(axis, x.ndim)), as_number(correction, "correction")
    if isinstance(count, BoundSize) and float(less).is_integer():
        return divide(total, maximum(count - int(less), 0))
    return divide(total, max(float(count) - less, 0.0))


# --- positions ------------------------------------------------------------------------------------


def argmax(x: Value, axis: int | None = None, *, keepdims: bool = False) -> Value:
    """The place of the first greatest element (of the first NaN), int64."""
    return _position(Op.MAX, x, axis, keepdims=keepdims)


def argmin(x: Value, axis: int | None = None, *, keepdims: bool = False) -> Value:
    """The place of the first smallest element (of the first NaN), int64."""
    return _position(Op.MIN, x, axis, keepdims=keepdims)


def _position(op: Op, x: Value, axis: int | None, *, keepdims: bool) -> Value:
    if axis is None:
        found = _position(op, graph.reshape(x, (x.size,)), 0, keepdims=False)
        return graph.reshape(found, (1,) * x.ndim) if keepdims else found
    along = as_axis(axis, x.ndim)
    _require_elements(f"arg{op.name.lower()}", x, (along,))
    is_best = is_extreme(x, _fold(op, x, along, keepdims=True))
    places = where(is_best, arange_like(x, along), x.shape[along])
    return graph.cast(_fold(Op.MIN, places, along, keepdims=keepdims), INT64)


def count_nonzero(x: Value, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """How many elements are not 0, int64."""
    return sum_(graph.cast(x, BOOL), axis, keepdims=keepdims)


# --- chains of reductions -------------------------------------------------------------------------


def softmax(x: Value, axis: Axes = -1) -> Value:
    """e ** x over its sum along the axis, of x less its maximum.

    Times the reciprocal of the sum, which costs a row one division: one rounding more.
    """
    result = as_float(x).dtype
    wide = graph.cast(x, dtypes.accumulator(result))
    e = _shifted_exp(wide, axis)
    y = multiply(e, divide(1.0, _fold(Op.ADD, e, axis, keepdims=True)))
    known(y, (wide,), lambda g, y: _softmax_gradient(g, y, axis))
    return graph.cast(y, result)


def _softmax_gradient(g: Value, y: Value, axis: Axes) -> Value:
    shares = weighed(g, y)
    total = broadcast_to(_fold(Op.ADD, shares, axis, keepdims=True), y.shape)
    return subtract(shares, weighed(total, y))


def _shifted_exp(x: Value, axis: Axes) -> Value:
    return exp(subtract(x, max_(x, axis, keepdims=True)))


def log_softmax(x: Value, axis: Axes = -1) -> Value:
    """The logarithm of the softmax."""
    result = as_float(x).dtype
    wide = graph.cast(x, dtypes.accumulator(result))
    shifted = subtract(wide, max_(wide, axis, keepdims=True))
    y = subtract(shifted, log(_fold(Op.ADD, exp(shifted), axis, keepdims=True)))
    known(y, (wide,), lambda g, y: _log_softmax_gradient(g, y, axis))
    return graph.cast(y, result)


def _log_softmax_gradient(g: Value, y: Value, axis: Axes) -> Value:
    total = broadcast_to(_fold(Op.ADD, g, axis, keepdims=True), y.shape)
    return subtract(g, weighed(total, exp(y)))


def logsumexp(x: Value, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """log(sum(e ** x)) without overflow."""
    result = as_float(x).dtype
    wide = graph.cast(x, dtypes.accumulator(result))
    greatest = max_(wide, axis, keepdims=True)
    base = where(isinf(greatest), constant(greatest, 0.0), greatest)  # inf - inf is NaN
    total = _fold(Op.ADD, exp(subtract(wide, base)), axis, keepdims=True)
    y = add(log(total), base)
    known(y, (wide,), lambda g, y: _logsumexp_gradient(g, y, wide))
    return graph.cast(_drop(y, x, axis, keepdims=keepdims), result)


def _logsumexp_gradient(g: Value, y: Value, x: Value) -> Value:
    return weighed(broadcast_to(g, x.shape), exp(subtract(x, y)))


def _drop(value: Value, x: Value, axis: Axes, *, keepdims: bool) -> Value:
    return graph.reshape(value, _shape(x, as_axes(axis, x.ndim), keepdims=keepdims))


def layer_norm(x: Value, axis: Axes = -1, eps: float = 1e-5) -> Value:
    """x less its mean, over the root of its variance + eps."""
    result = as_float(x).dtype
    wide = graph.cast(x, dtypes.accumulator(result))
    centred = subtract(wide, mean(wide, axis, keepdims=True))
    scale = sqrt(add(mean(square(centred), axis, keepdims=True), eps))
    return graph.cast(divide(centred, scale), result)


def vector_norm(x: Value, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """The root of the sum of squares."""
    wide = as_float(x)
    return sqrt(sum_(multiply(wide, wide), axis, keepdims=keepdims))
