"""Reductions and positions."""

from collections.abc import Callable

from compiler.frontend import graph
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions import floats, reduce, scan
from compiler.frontend.functions.creation import full_like
from compiler.frontend.functions.indexing import getitem
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Operator
from compiler.frontend.shapes import as_axis
from compiler.ir import Op


def _over_axes(function: Callable[..., Value]) -> Operator:
    def operator(call: Call) -> Value:
        axes = call.axes() or None
        if axes is None and call.attribute("noop_with_empty_axes", 0):
            axes = ()
        keepdims = bool(call.attribute("keepdims", 1))
        x = call.value(0)
        return graph.cast(function(x, axes, keepdims=keepdims), x.dtype)

    return operator


def _or_identity(function: Callable[..., Value], op: Op) -> Callable[..., Value]:
    """Of nothing, what never wins: NumPy has no such maximum, ONNX has."""

    def reduction(x: Value, axes: tuple[int, ...] | None, *, keepdims: bool) -> Value:
        if x.size:
            return function(x, axes, keepdims=keepdims)
        nothing = reduce.sum_(
            x, axes, dtype=x.dtype if x.dtype.is_float else None, keepdims=keepdims
        )
        return full_like(nothing, graph.identity(op, x.dtype), dtype=x.dtype)

    return reduction


def _l1(x: Value, axes: tuple[int, ...] | None, *, keepdims: bool) -> Value:
    return reduce.sum_(ew.abs_(x), axes, keepdims=keepdims)


def _l2(x: Value, axes: tuple[int, ...] | None, *, keepdims: bool) -> Value:
    return floats.sqrt(reduce.sum_(ew.square(x), axes, keepdims=keepdims))


def _log_sum(x: Value, axes: tuple[int, ...] | None, *, keepdims: bool) -> Value:
    return floats.log(reduce.sum_(x, axes, keepdims=keepdims))


def _sum_square(x: Value, axes: tuple[int, ...] | None, *, keepdims: bool) -> Value:
    return reduce.sum_(ew.square(x), axes, keepdims=keepdims)


def _position(function: Callable[..., Value]) -> Operator:
    def operator(call: Call) -> Value:
        x, axis = call.value(0), call.attribute("axis", 0)
        keepdims = bool(call.attribute("keepdims", 1))
        if not call.attribute("select_last_index", 0):
            return function(x, axis, keepdims=keepdims)
        items = [slice(None)] * x.ndim
        items[axis] = slice(None, None, -1)
        found = function(getitem(x, tuple(items)), axis, keepdims=keepdims)
        return ew.subtract(x.shape[axis] - 1, found)

    return operator


def _running(function: Callable[..., Value]) -> Operator:
    """Sums or products of what comes before an element, with or without it, from either end."""

    def operator(call: Call) -> Value:
        x = call.value(0)
        axis = as_axis(int(call.numbers(1)[0]), x.ndim)
        backwards = (axis,) if call.attribute("reverse", 0) else ()
        exclusive = bool(call.attribute("exclusive", 0))
        turned = graph.flip(x, backwards)
        found = function(turned, axis, dtype=x.dtype, include_initial=exclusive)
        bounds = tuple([(0, size) for size in x.shape])  # an exclusive one has a start, and no end
        return graph.flip(graph.shrink(found, bounds), backwards)

    return operator


OPERATORS: dict[str, Operator] = {
    "ArgMax": _position(reduce.argmax),
    "ArgMin": _position(reduce.argmin),
    "CumProd": _running(scan.cumprod),
    "CumSum": _running(scan.cumsum),
    "ReduceL1": _over_axes(_l1),
    "ReduceL2": _over_axes(_l2),
    "ReduceLogSum": _over_axes(_log_sum),
    "ReduceLogSumExp": _over_axes(_or_identity(reduce.logsumexp, Op.MAX)),
    "ReduceMax": _over_axes(_or_identity(reduce.max_, Op.MAX)),
    "ReduceMean": _over_axes(reduce.mean),
    "ReduceMin": _over_axes(_or_identity(reduce.min_, Op.MIN)),
    "ReduceProd": _over_axes(reduce.prod),
    "ReduceSum": _over_axes(reduce.sum_),
    "ReduceSumSquare": _over_axes(_sum_square),
}
