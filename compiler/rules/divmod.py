"""Laws of truncating division and remainder by a positive constant, of numerators >= 0."""

import math

from compiler.ir import Node, Op, bounds
from compiler.rules.builder import Builder, Constants, Rule
from compiler.rules.fold import constant_of
from compiler.rules.linear import Terms, build_linear, exact_interval, exact_linear

_IDIV, _MOD = Op.IDIV, Op.MOD


def _positive_divisor(node: Node) -> int | None:
    """The constant divisor of a scalar integer division, if it is positive."""
    if node.dtype.count > 1:
        return None
    divisor = constant_of(node.src[1])
    return int(divisor) if divisor is not None and divisor > 0 else None


def by_one(b: Builder, node: Node) -> Node | None:
    """x / 1 = x and x % 1 = 0, vectors too"""
    if constant_of(node.src[1]) != 1:
        return None
    return node.src[0] if node.op is _IDIV else b.const(node.dtype, 0)


def within_one_multiple(b: Builder, node: Node) -> Node | None:
    """x / c = q and x % c = x - q*c where q*c <= x < (q+1)*c always"""
    divisor = _positive_divisor(node)
    if divisor is None:
        return None
    low, high = bounds(node.src[0])
    if low < 0 or low // divisor != high // divisor:
        return None
    quotient = low // divisor
    if node.op is _IDIV:
        return b.const(node.dtype, quotient)
    return b.sub(node.src[0], quotient * divisor)


def split_multiples(b: Builder, node: Node) -> Node | None:
    """(c*x + y) / c = x + y/c and (c*x + y) % c = y % c where nothing is negative or wraps"""
    divisor = _positive_divisor(node)
    found = None if divisor is None else exact_linear(node.src[0])
    if divisor is None or found is None:
        return None
    terms, constant, interval = found
    whole: Terms = {x: f // divisor for x, f in terms.items() if f % divisor == 0}
    rest: Terms = {x: f for x, f in terms.items() if f % divisor != 0}
    whole_constant, rest_constant = divmod(constant, divisor)
    if not whole and not (whole_constant and rest):
        return None
    if interval[0] < 0 or exact_interval(rest, rest_constant)[0] < 0:
        return None
    if exact_interval(whole, whole_constant)[0] < 0:
        return None
    remainder = build_linear(b, node, rest.items(), rest_constant)
    if node.op is _MOD:
        return b.mod(remainder, divisor)
    quotient = build_linear(b, node, whole.items(), whole_constant)
    return b.add(quotient, b.idiv(remainder, divisor))


def common_factor(b: Builder, node: Node) -> Node | None:
    """(g*x + r) / (g*c) = x/c, (g*x + r) % (g*c) = g*(x % c) + r; 0 <= r < g, nothing wraps"""
    divisor = _positive_divisor(node)
    found = None if divisor is None else exact_linear(node.src[0])
    if divisor is None or found is None or found[2][0] < 0 or not found[0]:
        return None
    terms, constant, _ = found
    factor = math.gcd(divisor, *terms.values())
    if factor == 1:
        return None
    inner_constant, rest = divmod(constant, factor)
    inner_terms = {x: f // factor for x, f in terms.items()}
    if exact_interval(inner_terms, inner_constant)[0] < 0:
        return None
    inner = build_linear(b, node, inner_terms.items(), inner_constant)
    if node.op is _IDIV:
        return b.idiv(inner, divisor // factor)
    return b.add(b.mul(b.mod(inner, divisor // factor), factor), rest)


def nested(b: Builder, node: Node) -> Node | None:
    """(x/c)/d = x/(c*d); (x % (c*d)) % d = x % d; (x % (c*d)) / d = (x/d) % c; for x >= 0"""
    x = node.src[0]
    divisor = _positive_divisor(node)
    inner = _positive_divisor(x) if x.op in (_IDIV, _MOD) else None
    if divisor is None or inner is None or bounds(x.src[0])[0] < 0:
        return None
    if x.op is _IDIV:
        fits = inner * divisor <= int(node.dtype.highest)
        return b.idiv(x.src[0], inner * divisor) if node.op is _IDIV and fits else None
    if inner % divisor:
        return None
    if node.op is _MOD:
        return b.mod(x.src[0], divisor)
    return b.mod(b.idiv(x.src[0], divisor), inner // divisor)


_BOTH = (Op.IDIV, Op.MOD)
RULES = (
    Rule("divmod-by-one", _BOTH, by_one, constants=Constants.LAST),
    Rule("divmod-within-one-multiple", _BOTH, within_one_multiple, constants=Constants.LAST),
    Rule("divmod-split-multiples", _BOTH, split_multiples, constants=Constants.LAST),
    Rule("divmod-common-factor", _BOTH, common_factor, constants=Constants.LAST),
    Rule("divmod-nested", _BOTH, nested, constants=Constants.LAST, first=_BOTH),
)
