"""How errors of operands become errors of results. To add an op: a function and a line in RULES.

Where every operand is exact, an operation of IEEE 754 has one right result, and the bound is 0. A
product that may be fused into an addition has two: rounded or not.
"""

from collections.abc import Callable

import numpy as np

from compiler.backends.reference.arithmetic import (
    FUNCTIONS,
    Array,
    apply,
    cast,
    round_to,
    two_product,
)
from compiler.backends.reference.bounds.approx import (
    FORMATS,
    INFLATE,
    Approx,
    make,
    settle,
    to_native,
    to_working,
    union,
)
from compiler.backends.reference.bounds.functions import apply_function
from compiler.ir import BOOL, FLOAT64, DType, Node, Op


def propagate(
    node: Node, values: tuple[Approx, ...], *, may_fuse: bool, zero_sign: bool, ulp: float
) -> Approx:
    """The result of an elementwise op.

    `may_fuse`: an addition takes this product, which need not be rounded. `zero_sign`: the signs
    of zero operands are certain. `ulp`: the error of a function.
    """
    result = _propagate(node, values, may_fuse=may_fuse, ulp=ulp)
    return result if zero_sign else _without_zero_signs(node, values, result)


def _propagate(node: Node, values: tuple[Approx, ...], *, may_fuse: bool, ulp: float) -> Approx:
    if node.op in _SPECIAL:
        return _SPECIAL[node.op](node, values)
    undecided = union(*[value.undecided for value in values])
    if not node.dtype.is_float:
        return make(_native(node, values), None, undecided)
    if node.op in FUNCTIONS:
        result = apply_function(node, values, ulp)
        return make(result.value, result.error, undecided)
    exact = _exact(node, values, may_fuse=may_fuse)
    if all(value.error is None for value in values):
        return make(exact.value, exact.error, undecided)
    loose = RULES[node.op](node.dtype, *values)
    known = np.ones((), np.bool_)
    for value in values:
        known = known & value.is_exact
    error = np.where(known, exact.slack, loose.slack)
    return make(np.where(known, exact.value, loose.value), error, undecided)


def _without_zero_signs(node: Node, values: tuple[Approx, ...], result: Approx) -> Approx:
    """What shows the sign of a zero is open: infinities from division or powers, and bits."""
    zero = values[-1 if node.op is Op.FDIV else 0].value == 0
    if node.op is Op.BITCAST and node.src[0].dtype.is_float:
        return make(result.value, result.error, union(result.undecided, zero))
    if node.op is not Op.FDIV and node.op is not Op.POW:
        return result
    error = np.where(zero & np.isinf(result.value), np.inf, result.slack)
    return make(result.value, error, result.undecided)


def _native(node: Node, values: tuple[Approx, ...]) -> Array:
    """The op on the values as they are, in the dtype of the node."""
    source = node.src[0].dtype
    if node.op in _IN_FLOAT64 and node.dtype.is_float:
        result = apply(node.op, FLOAT64, FLOAT64, *[value.value for value in values])
        if node.op in _SELECTIONS or node.dtype.bits == 64:
            return result
        return np.asarray(round_to(node.dtype, result).astype(np.float64))
    arrays = [
        to_native(value.value, child.dtype) for value, child in zip(values, node.src, strict=True)
    ]
    return to_working(apply(node.op, node.dtype, source, *arrays), node.dtype)


def _exact(node: Node, values: tuple[Approx, ...], *, may_fuse: bool) -> Approx:
    result = _native(node, values)
    if node.op is not Op.MUL or not may_fuse:
        return Approx(result)
    form = FORMATS[node.dtype]
    product, error = two_product(values[0].value, values[1].value)
    with np.errstate(all="ignore"):
        finite = np.isfinite(result) & (result != 0)
        rounded = (product != result) | (error != 0) | ~np.isfinite(error)
        small = np.abs(result) < _PRODUCT_ERROR_IS_EXACT
        rounded = rounded | (small & (values[0].value != 0) & (values[1].value != 0))
        bound = np.where(finite, np.abs(result) * form.unit * INFLATE, 0.0) + form.tiny
        overflow = np.isinf(result) & np.isfinite(values[0].value) & np.isfinite(values[1].value)
        bound = np.where(overflow, np.inf, bound)  # fused, the sum may still be finite
        return make(result, np.where(rounded & ~np.isnan(result), bound, 0.0), None)


_SELECTIONS = frozenset((Op.MAX, Op.MIN, Op.NEG))
_IN_FLOAT64 = _SELECTIONS | {Op.ADD, Op.SUB, Op.MUL, Op.FDIV, Op.SQRT}  # twice rounded is right
_PRODUCT_ERROR_IS_EXACT = 2.0**-900  # from here on, for float64


# --- arithmetic ---


def _times(factor: Array, error: Array) -> Array:
    """factor * error where 0 * inf says nothing: 0 for an error of 0, else inf."""
    product = factor * error
    return np.where(np.isnan(product), np.where(error == 0, 0.0, np.inf), product)


def _add(dtype: DType, a: Approx, b: Approx) -> Approx:
    return settle(dtype, a.value + b.value, a.slack + b.slack, (a, b))


def _sub(dtype: DType, a: Approx, b: Approx) -> Approx:
    return settle(dtype, a.value - b.value, a.slack + b.slack, (a, b))


def product_spread(a: Approx, b: Approx) -> Array:
    """How far the product of two inexact numbers may be from that of their values."""
    spread = _times(np.abs(a.value), b.slack) + _times(np.abs(b.value), a.slack)
    return spread + _times(a.slack, b.slack)


def _mul(dtype: DType, a: Approx, b: Approx) -> Approx:
    result = settle(dtype, a.value * b.value, product_spread(a, b), (a, b))
    open_sign = np.zeros((), np.bool_)  # infinity times a number whose sign is open
    for x, y in ((a, b), (b, a)):
        open_sign = open_sign | (np.isinf(x.value) & (np.abs(y.value) <= y.slack) & ~y.is_exact)
    return make(result.value, np.where(open_sign, np.inf, result.slack), None)


def _fdiv(dtype: DType, a: Approx, b: Approx) -> Approx:
    divisor = np.abs(b.value)
    least = divisor - b.slack
    quotient = a.value / b.value
    spread = (a.slack + _times(np.abs(quotient), b.slack)) / least
    open_divisor = (least <= 0) & ~b.is_exact
    spread = np.where(open_divisor | np.isnan(spread), np.inf, spread)
    spread = np.where(np.isinf(divisor) & b.is_exact & np.isfinite(a.slack), 0.0, spread)
    result = settle(dtype, quotient, spread, (a, b))
    open_sign = np.isinf(a.value) & open_divisor
    open_sign = open_sign | ((divisor == 0) & ~a.is_exact)
    return make(result.value, np.where(open_sign, np.inf, result.slack), None)


def _sqrt(dtype: DType, a: Approx) -> Approx:
    root = np.sqrt(a.value)
    spread = a.slack / (root + np.sqrt(np.maximum(a.value - a.slack, 0.0)))
    straddles = (a.value - a.slack < 0) & (a.value + a.slack >= 0) & ~a.is_exact
    result = settle(dtype, root, np.where(straddles, np.inf, spread), (a,))
    negative = (a.value + a.slack < 0) & np.isfinite(a.slack)
    return make(result.value, np.where(negative, 0.0, result.slack), None)


def _mulacc(dtype: DType, a: Approx, b: Approx, c: Approx) -> Approx:
    product = Approx(a.value * b.value, product_spread(a, b) + np.abs(a.value * b.value) * 2.0**-53)
    wild = ~np.isfinite(a.value) | ~np.isfinite(b.value)
    product = make(product.value, np.where(wild, np.inf, product.slack), None)
    return settle(dtype, product.value + c.value, product.slack + c.slack, (product, c))


def _neg(dtype: DType, a: Approx) -> Approx:
    return Approx(-a.value, a.error)


def _max(dtype: DType, a: Approx, b: Approx) -> Approx:
    return _extreme(a, b, a.value - b.value, apply(Op.MAX, dtype, dtype, a.value, b.value))


def _min(dtype: DType, a: Approx, b: Approx) -> Approx:
    return _extreme(a, b, b.value - a.value, apply(Op.MIN, dtype, dtype, a.value, b.value))


def _extreme(a: Approx, b: Approx, lead: Array, value: Array) -> Approx:
    """MAX or MIN, where `a` wins by `lead`."""
    gap = (a.slack + b.slack) * INFLATE
    if np.all((np.abs(lead) > gap) & np.isfinite(lead)):
        return make(value, np.where(lead > 0, a.slack, b.slack), None)
    error = np.where(
        lead > gap, a.slack, np.where(lead < -gap, b.slack, np.maximum(a.slack, b.slack))
    )
    nan = (np.isnan(a.value) & a.is_exact) | (np.isnan(b.value) & b.is_exact)
    certain = nan | (np.isinf(value) & np.isfinite(error))
    lost = (np.isinf(a.slack) | np.isinf(b.slack)) & ~nan
    value = np.where(nan, np.nan, value)
    return make(value, np.where(certain, 0.0, np.where(lost, np.inf, error)), None)


# --- decisions ---


def _compare(node: Node, values: tuple[Approx, ...]) -> Approx:
    a, b = values
    source = FLOAT64 if node.src[0].dtype.is_float else node.src[0].dtype
    result = apply(node.op, BOOL, source, a.value, b.value)
    undecided = union(a.undecided, b.undecided)
    if a.error is None and b.error is None:
        return make(result, None, undecided)
    if node.src[0] is node.src[1]:  # one value compared with itself: only NaN matters
        return make(result, None, union(undecided, np.isinf(a.slack)))
    gap = (a.slack + b.slack) * INFLATE
    distance = np.abs(a.value - b.value)
    inside = ~(distance > gap) & ~(a.is_exact & b.is_exact)
    certain_nan = (np.isnan(a.value) & a.is_exact) | (np.isnan(b.value) & b.is_exact)
    same_infinity = np.isinf(a.value) & (a.value == b.value) & np.isfinite(gap)
    return make(result, None, union(undecided, inside & ~certain_nan & ~same_infinity))


def _where(node: Node, values: tuple[Approx, ...]) -> Approx:
    """An open condition gives the union of both branches, undecided where they differ."""
    condition, a, b = values
    value = np.where(condition.value, a.value, b.value)
    undecided = np.where(condition.value, a.is_open, b.is_open)
    error = np.where(condition.value, a.slack, b.slack) if node.dtype.is_float else None
    if condition.undecided is None:
        return make(value, error, undecided)
    choice = condition.undecided
    if error is None:
        differ = (a.value != b.value) | a.is_open | b.is_open
        return make(value, None, np.where(choice, differ, undecided))
    same = (a.value == b.value) | (np.isnan(a.value) & np.isnan(b.value))
    distance = np.where(same, 0.0, np.abs(a.value - b.value))
    distance = np.where(np.isnan(distance), np.inf, distance)
    other = np.where(condition.value, b.slack, a.slack)
    hull = np.maximum(error, distance * INFLATE + other)
    differ = ~(distance <= a.slack + b.slack) | a.is_open | b.is_open
    return make(value, np.where(choice, hull, error), np.where(choice, differ, undecided))


def _round(node: Node, values: tuple[Approx, ...]) -> Approx:
    """TRUNC, FLOOR, CEIL, RINT: monotone, so an interval becomes an interval of integers."""
    (a,) = values
    value = _native(node, (Approx(a.value),)) if a.error is None else _WHOLE[node.op](a.value)
    if a.error is None:
        return make(value, None, a.undecided)
    low, high = _WHOLE[node.op](a.value - a.slack), _WHOLE[node.op](a.value + a.slack)
    error = np.maximum(high - value, value - low)
    error = np.where(np.isnan(error), np.where(np.isinf(a.slack), np.inf, 0.0), error)
    return make(value, error, union(a.undecided, error > 0))


_WHOLE: dict[Op, Callable[..., Array]] = {
    Op.TRUNC: np.trunc,
    Op.FLOOR: np.floor,
    Op.CEIL: np.ceil,
    Op.RINT: np.rint,
}


def _cast(node: Node, values: tuple[Approx, ...]) -> Approx:
    (a,) = values
    source, target = node.src[0].dtype, node.dtype
    if source.is_float and target.is_float:
        return _convert(a, source, target)
    if target.is_float:
        value = cast(a.value, source, target).astype(np.float64)
        error = None if a.undecided is None else np.where(a.undecided, np.inf, 0.0)
        return make(value, error, a.undecided)
    if not source.is_float:
        return make(cast(a.value, source, target), None, a.undecided)
    native = to_native(a.value, source) if a.error is None else a.value
    result = cast(native, source, target)
    if a.error is None:
        return make(result, None, a.undecided)
    if target is BOOL:
        inside = (np.abs(a.value) <= a.slack) & ~a.is_exact
    else:
        ends = [cast(a.value + sign * a.slack, source, target) for sign in (-1.0, 1.0)]
        inside = (ends[0] != ends[1]) | np.isinf(a.slack)
    return make(result, None, union(a.undecided, inside))


def _convert(a: Approx, source: DType, target: DType) -> Approx:
    if FORMATS[target].unit <= FORMATS[source].unit and target.bits > source.bits:
        return a
    rounded = cast(a.value, source, target).astype(np.float64)
    if a.error is None:
        return make(rounded, None, a.undecided)
    loose = settle(target, a.value, a.slack, (a,))
    value = np.where(a.is_exact, rounded, loose.value)
    return make(value, np.where(a.is_exact, 0.0, loose.slack), a.undecided)


def _bitcast(node: Node, values: tuple[Approx, ...]) -> Approx:
    """Bits are certain only of certain numbers, and not of NaN."""
    (a,) = values
    source, target = node.src[0].dtype, node.dtype
    value = apply(Op.BITCAST, target, source, to_native(a.value, source))
    vague = union(a.undecided, ~a.is_exact)
    if source.is_float:
        vague = union(vague, np.isnan(a.value))
    if not target.is_float:
        return make(value, None, vague)
    error = None if vague is None else np.where(vague, np.inf, 0.0)
    return make(value.astype(np.float64), error, vague)


RULES: dict[Op, Callable[..., Approx]] = {
    Op.ADD: _add,
    Op.SUB: _sub,
    Op.MUL: _mul,
    Op.FDIV: _fdiv,
    Op.SQRT: _sqrt,
    Op.MULACC: _mulacc,
    Op.NEG: _neg,
    Op.MAX: _max,
    Op.MIN: _min,
}
_SPECIAL: dict[Op, Callable[[Node, tuple[Approx, ...]], Approx]] = {
    **dict.fromkeys((Op.LT, Op.LE, Op.EQ, Op.NE), _compare),
    **dict.fromkeys(_WHOLE, _round),
    Op.WHERE: _where,
    Op.CAST: _cast,
    Op.BITCAST: _bitcast,
}
