"""How the gradient of a reduction becomes that of the elements that were reduced."""

from collections.abc import Mapping
from math import prod

from compiler.frontend import graph
from compiler.frontend.formulas import Rule, weighed
from compiler.frontend.functions.elementwise import constant, divide, multiply, where
from compiler.frontend.functions.reduce import is_extreme
from compiler.frontend.functions.scan import cumprod
from compiler.frontend.gradient.movement import total
from compiler.frontend.graph import Value
from compiler.ir import Op


def _again(reduced: Value, y: Value) -> Value:
    """Something of the shape of the reduction `y`, repeated for each element it came from."""
    before, axes = y.src[0].shape, y.arg[1]
    ones = tuple([1 if axis in axes else size for axis, size in enumerate(before)])
    return graph.expand(graph.reshape(reduced, ones), before)


def _extreme(g: Value, y: Value) -> Value:
    """Shared equally by all elements that are the greatest (the smallest), or by all NaN."""
    x, axes = y.src[0], y.arg[1]
    is_best = is_extreme(x, _again(y, y))
    count = total(graph.cast(is_best, y.dtype), axes)
    share = divide(g, count)
    return where(is_best, _again(share, y), constant(x, 0))


def _product(g: Value, y: Value) -> Value:
    """Times the product of all other elements: y / x would divide by a 0 among them."""
    x, axes = y.src[0], y.arg[1]
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    order = (*kept, *axes)
    count = prod(x.shape[axis] for axis in axes)
    turned = graph.permute(x, order)
    rows = graph.reshape(turned, (*[x.shape[axis] for axis in kept], count))
    others = multiply(_before(rows), _reversed(_before(_reversed(rows))))
    slopes = graph.permute(
        graph.reshape(others, turned.shape), tuple([order.index(axis) for axis in range(x.ndim)])
    )
    return weighed(_again(g, y), slopes)


def _reversed(rows: Value) -> Value:
    return graph.flip(rows, (rows.ndim - 1,))


def _before(rows: Value) -> Value:
    """The product of everything before each element of the last axis."""
    products = cumprod(rows, -1, include_initial=True)
    ends = [(0, size) for size in products.shape[:-1]]
    return graph.shrink(products, (*ends, (0, rows.shape[-1])))


RULES: Mapping[Op, Rule] = {
    Op.ADD: _again,
    Op.MUL: _product,
    Op.MAX: _extreme,
    Op.MIN: _extreme,
}
