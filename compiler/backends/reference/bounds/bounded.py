"""Values with error bounds as the values of a kernel.

A bound holds for every order of a reduction, fused or unfused products and all roundings that
docs/ir.md allows. It is forward and derived per op: the unit roundoff of the op's dtype, n - 1
additions for n terms, the stated ULP of a function. The values are float64; what this evaluation
itself rounds is counted in the bound as well, so the bounds of float64 kernels are sound too, if
twice as wide as need be.

Sums are exact where all terms are multiples of one power of two and small enough for every partial
sum to be a number of the dtype; then one wrong term in a million is seen.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from compiler.backends.reference.algebra import Extents
from compiler.backends.reference.arithmetic import FUNCTIONS, Array, identity, numpy_dtype
from compiler.backends.reference.bounds.approx import (
    FORMATS,
    INFLATE,
    OWN_UNIT,
    Approx,
    Format,
    make,
    to_working,
    union,
)
from compiler.backends.reference.bounds.cores import errors_of
from compiler.backends.reference.bounds.propagate import propagate
from compiler.backends.reference.contract import repeat, sum_products, sum_special
from compiler.backends.reference.views import gather
from compiler.ir import FLOAT64, Core, DType, Node, Op, toposort


@dataclass(frozen=True, slots=True)
class Partial:
    """Arrays that join one by one, and `grain`, of which all terms are multiples (0: unknown)."""

    parts: tuple[Array, ...]
    grain: float = 0.0
    undecided: Array | None = None


class Bounded:
    """The algebra of Approx. Knows which products are added, and which zeros have a sign."""

    def __init__(self, root: Node, ulps: Mapping[Op, float], core: Core | None = None) -> None:
        order = toposort(root)
        self.ulps = ulps
        self.core = errors_of(core, order)
        self.fused: set[Node] = set() if self.core is None else set(self.core.products)
        self.signed: set[Node] = set()
        for node in order:
            takes = node.op in _ADDITIVE or (node.op is Op.REDUCE and node.attr[0] is Op.ADD)
            if takes:
                self.fused.update(child for child in node.src if child.op is Op.MUL)
            if node.op not in _LOSES_ZERO_SIGN and all(child in self.signed for child in node.src):
                self.signed.add(node)

    def memory(self, dtype: DType, flat: Array) -> Array:
        return to_working(flat, dtype)

    def load(self, dtype: DType, array: Array) -> Approx:
        return Approx(array)

    def gather(self, dtype: DType, flat: Array, offset: Approx) -> Approx:
        """An element; anything where rounding errors decide which one."""
        value, open_ = gather(flat, offset.value), offset.undecided
        error = None if open_ is None or not dtype.is_float else np.where(open_, np.inf, 0.0)
        return make(value, error, open_)

    def constant(self, dtype: DType, array: Array) -> Approx:
        return Approx(to_working(array, dtype))

    def apply(self, node: Node, *values: Approx) -> Approx:
        if self.core is not None and node in self.core.products:
            values = tuple([self.core.seen(value) for value in values])
        with np.errstate(all="ignore"):
            return propagate(
                node,
                values,
                may_fuse=node in self.fused,
                zero_sign=all(child in self.signed for child in node.src),
                ulp=self.ulps.get(node.op, 0.0),
            )

    # --- reductions ---

    def reduce(self, op: Op, dtype: DType, value: Approx, extents: Extents) -> Partial:
        axes = tuple([axis for axis, _ in extents])
        undecided = None
        if value.undecided is not None:
            undecided = np.any(repeat(value.undecided, extents), axis=axes, keepdims=True)
        if 0 in [size for _, size in extents]:
            return self._empty(op, dtype, value, extents)
        with np.errstate(all="ignore"):
            parts, grain = _terms(op, dtype, value)
            if self.core is not None and op is Op.ADD and dtype.is_float:
                parts, grain = _terms(op, dtype, self.core.added(value, grain))
            wide = [
                np.broadcast_to(part, np.broadcast_shapes(part.shape, value.value.shape))
                for part in parts
            ]
            reduced = [
                ufunc.reduce(repeat(part, extents), axis=axes, keepdims=True, dtype=part.dtype)
                for ufunc, part in zip(_joins(op, dtype), wide, strict=True)
            ]
        return Partial(tuple(reduced), grain, undecided)

    def _empty(self, op: Op, dtype: DType, value: Approx, extents: Extents) -> Partial:
        shape = list(value.value.shape)
        for axis, _ in extents:
            shape[axis] = 1
        neutral = np.full([size or 1 for size in shape], identity(op, dtype), value.value.dtype)
        parts, _ = _terms(op, dtype, Approx(neutral))
        return Partial(tuple(parts), np.inf)

    def contract(self, dtype: DType, a: Approx, b: Approx, extents: Extents) -> Partial | None:
        if not dtype.is_float or a.undecided is not None or b.undecided is not None:
            return None
        count = prod([size for _, size in extents])
        if count * a.value.size * b.value.size == 0:
            return None
        form = FORMATS[dtype]
        if self.core is not None:
            a, b, form = self.core.seen(a), self.core.seen(b), self.core.form
        special = np.zeros((1,) * a.value.ndim)
        if not (np.all(np.isfinite(a.value)) and np.all(np.isfinite(b.value))):
            if _has_open_sign(a) or _has_open_sign(b):
                return None  # times infinity
            special = sum_special(a.value, b.value, extents)
            a, b = _finite_part(a), _finite_part(b)
        most = _most(a) * _most(b)
        if not most < FORMATS[FLOAT64].largest / 4:
            return None
        total = sum_products(a.value, b.value, extents)
        zero = np.zeros((1,) * total.ndim)
        terms = zero + float(count)
        grain = granularity(a.value) * granularity(b.value) if a.error is b.error is None else 0.0
        if count * most <= grain / form.unit and grain >= form.tiny:
            return Partial((total, zero + count * most, zero, terms, special), grain)
        bound, spread = _spread_of_products(form, a, b, extents)
        return Partial((total, bound, spread, terms, special))

    def products(self, node: Node, a: Approx, b: Approx) -> Approx:
        """Not rounded, and so not infinite where only the dtype is too small: the sum decides."""
        if not node.dtype.is_float or node.dtype.bits == 64:
            return self.apply(node, a, b)
        rounded = self.apply(node, a, b)
        with np.errstate(all="ignore"):
            exact = a.value * b.value
            large = np.isinf(rounded.value) & np.isfinite(exact) & a.is_exact & b.is_exact
            error = np.where(large, np.abs(exact) * FORMATS[node.dtype].unit, rounded.slack)
            return make(np.where(large, exact, rounded.value), error, rounded.undecided)

    def join(self, op: Op, dtype: DType, a: Partial, b: Partial) -> Partial:
        with np.errstate(all="ignore"):
            parts = [
                ufunc(x, y) for ufunc, x, y in zip(_joins(op, dtype), a.parts, b.parts, strict=True)
            ]
        return Partial(tuple(parts), min(a.grain, b.grain), union(a.undecided, b.undecided))

    def finish(self, op: Op, dtype: DType, partial: Partial) -> Approx:
        if not dtype.is_float:
            return make(partial.parts[0].astype(numpy_dtype(dtype)), None, partial.undecided)
        with np.errstate(all="ignore"):
            form = FORMATS[dtype] if self.core is None else self.core.form
            result = _FINISH[op](form, partial)
        shape = np.broadcast_shapes(result.value.shape, result.slack.shape)
        return make(np.broadcast_to(result.value, shape), result.error, partial.undecided)


_ADDITIVE = frozenset((Op.ADD, Op.SUB, Op.NEG))
_LOSES_ZERO_SIGN = frozenset((Op.REDUCE, *FUNCTIONS))


def _finite_part(value: Approx) -> Approx:
    """0 instead of infinities and NaNs."""
    return replace(value, value=np.where(np.isfinite(value.value), value.value, 0.0))


def _has_open_sign(value: Approx) -> bool:
    return bool(np.any((np.abs(value.value) <= value.slack) & ~value.is_exact))


def _most(value: Approx) -> float:
    """The greatest magnitude that any number may have."""
    return float((np.abs(value.value) + value.slack).max())


def _spread_of_products(
    form: Format, a: Approx, b: Approx, extents: Extents
) -> tuple[Array, Array]:
    """Bounds on the sums of the magnitudes of all products, and of their errors."""
    size_a, size_b = np.abs(a.value) + a.slack, np.abs(b.value) + b.slack
    bound = sum_products(size_a, size_b, extents) * INFLATE
    count = prod([size for _, size in extents])
    spread = bound * (form.unit + OWN_UNIT) + count * form.tiny
    if a.error is not None or b.error is not None:
        plain = sum_products(np.abs(a.value), np.abs(b.value), extents)
        spread = spread + np.maximum(bound - plain, 0.0) + bound * 2.0**-40
    return bound, spread


def granularity(value: Array) -> float:
    """The greatest power of two of which all numbers are multiples; 0 where one is not finite."""
    if not np.all(np.isfinite(value)):
        return 0.0
    mantissa, exponent = np.frexp(value[value != 0])
    if mantissa.size == 0:
        return np.inf
    whole = (np.abs(mantissa) * 2.0**53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    least = int((exponent + lowest).min()) - 53
    return float(np.ldexp(1.0, least)) if least > -1000 else 0.0


# --- what is collected per reduction ---


def _odd_part(value: Array) -> Array:
    """log2 of the number without its factors of two."""
    mantissa = (np.abs(np.frexp(value)[0]) * 2.0**53).astype(np.int64)
    lowest = (mantissa & -mantissa).astype(np.float64)
    return np.where(mantissa == 0, 0.0, np.log2(mantissa / np.maximum(lowest, 1.0)))


def _terms(op: Op, dtype: DType, value: Approx) -> tuple[list[Array], float]:
    """The arrays that are joined for the bound of a reduction, and the grain of a sum."""
    if not dtype.is_float:
        return [value.value], 0.0
    size = np.abs(value.value) + value.slack
    if op is Op.ADD:
        grain = granularity(value.value) if value.error is None else 0.0
        finite = np.isfinite(value.value)
        number, special = np.where(finite, value.value, 0.0), np.where(finite, 0.0, value.value)
        terms = (size != 0).astype(np.float64)
        return [number, np.where(finite, size, 0.0), value.slack, terms, special], grain
    if op is Op.MUL:
        low = np.maximum(np.abs(value.value) - value.slack, 0.0)
        zero = ((value.value == 0) & value.is_exact).astype(np.float64)
        odd = np.where(value.is_exact, _odd_part(value.value), np.inf)
        small, big = np.where(zero > 0, 1.0, np.minimum(low, 1.0)), np.maximum(size, 1.0)
        return [value.value, size, big, small, odd, zero, np.ones_like(size), value.slack], 0.0
    return [value.value, value.value - value.slack, value.value + value.slack, value.slack], 0.0


def _joins(op: Op, dtype: DType) -> tuple[np.ufunc, ...]:
    if not dtype.is_float:
        return (_PLAIN[op],)
    if op is Op.ADD:
        return (np.add,) * 5
    if op is Op.MUL:
        return (np.multiply,) * 4 + (np.add,) * 3 + (np.maximum,)
    pick = _PLAIN[op]
    return (pick, pick, pick, np.maximum)


_PLAIN: dict[Op, np.ufunc] = {
    Op.ADD: np.add,
    Op.MUL: np.multiply,
    Op.MAX: np.maximum,
    Op.MIN: np.minimum,
    Op.AND: np.bitwise_and,
    Op.OR: np.bitwise_or,
    Op.XOR: np.bitwise_xor,
}


# --- what it comes to ---


def _growth(form: Format, roundings: Array) -> Array:
    """(1 + u)**n - 1: the most that n roundings change a number by, relatively."""
    return np.asarray(np.expm1(roundings * np.log1p(form.unit + OWN_UNIT)) * INFLATE)


def _sum(form: Format, partial: Partial) -> Approx:
    """The parts are: sum of the finite terms, of their magnitudes, of all errors, how many terms
    are not 0, and the sum of the infinities and NaNs.

    Adding 0 is exact, so only the other terms count. Overflow is certain where the sum is beyond
    the dtype and what opposes it cannot overflow the other way; so is an infinity among the terms.
    """
    total, size, spread, terms, special = partial.parts
    exact = (partial.grain >= form.tiny) & (size * form.unit <= partial.grain)
    exact = (spread == 0) & (exact | (terms <= 1))
    if np.all(exact) and not np.any(special) and np.all(size <= form.largest):
        return Approx(total)
    error = (spread + _growth(form, np.maximum(terms - 1, 0.0)) * (size + spread)) * INFLATE
    error = np.where(exact, 0.0, error)
    if np.all(size + error <= form.largest) and not np.any(special):
        return Approx(total, error)
    error = np.where(np.isnan(error), np.inf, error)
    falls = (
        (size - total) / 2 * INFLATE + error
    ) < form.largest  # else the negative terms overflow
    rises = ((size + total) / 2 * INFLATE + error) < form.largest
    up = falls & (special >= 0) & ((total - error >= form.overflow) | (special == np.inf))
    down = rises & (special <= 0) & ((-total - error >= form.overflow) | (special == -np.inf))
    certain = (up | down | np.isnan(special)) & np.isfinite(spread)
    value = np.where(up, np.inf, np.where(down, -np.inf, total)) + special
    fits = (size + error <= form.largest) & (special == 0)
    return Approx(value, np.where(certain, 0.0, np.where(fits, error, np.inf)))


def _product(form: Format, partial: Partial) -> Approx:
    """The parts are: product, product of magnitudes, of those above 1, of those below 1 (the least
    they can be), sum of the odd parts' bits, zeros, terms, and the largest error.

    What is lost by underflow can grow by no more than all that is above 1. Products of few bits are
    exact, and an exact zero wins unless something overflows.
    """
    product, size, big, small, odd, zeros, terms, spread = partial.parts
    growth = _growth(form, terms)
    lost = terms * form.tiny * big * (1 + growth)
    error = (size * INFLATE - np.abs(product) + size * growth + lost) * INFLATE
    exact = (odd < -np.log2(form.unit) - 0.01) & (small >= form.normal)
    error = np.where(exact | (zeros > 0), 0.0, np.where(np.isnan(error), np.inf, error))
    error = np.where(big * (1 + growth) <= form.largest, error, np.inf)
    nan = np.isnan(product) & np.isfinite(spread)
    return Approx(product, np.where(nan, 0.0, error))


def _extreme(form: Format, partial: Partial) -> Approx:
    """The parts are: the extreme of values, of lower ends, of upper ends; the largest error."""
    value, low, high, spread = partial.parts
    error = np.maximum(high - value, value - low)
    error = np.where(error > 0, error * INFLATE + np.abs(value) * 2.0**-52, error)
    error = np.where(~np.isfinite(value), 0.0, error)
    return Approx(value, np.where(np.isinf(spread), np.inf, error))


_FINISH: dict[Op, Callable[[Format, Partial], Approx]] = {
    Op.ADD: _sum,
    Op.MUL: _product,
    Op.MAX: _extreme,
    Op.MIN: _extreme,
}
