"""Integer intervals: the least and greatest value a node can take, from its operands' intervals."""

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from compiler.ir.dtype import BOOL, DType, Kind
from compiler.ir.node import Node, set_interval
from compiler.ir.op import Op

Interval: TypeAlias = tuple[int, int]


def bounds(root: Node) -> Interval:
    """The interval of an integer or bool node, of every lane. Never wrong, not always tight."""
    known: Interval | None = root.interval
    return _find(root) if known is None else known


def _find(root: Node) -> Interval:
    stack = [root]
    interval = (0, 0)
    while stack:  # iterative: chains may be deeper than Python's stack
        node = stack[-1]
        combine = _COMBINE.get(node.op)
        if combine is None:
            leaf = _LEAVES.get(node.op)
            interval = full(node) if leaf is None else leaf(node)
        else:
            known = [child.interval for child in node.src]
            if None in known:
                missing = [c for c in node.src if c.interval is None and c.dtype.kind in _COUNTED]
                if missing:
                    stack.extend(missing)
                    continue
                interval = full(node)
            else:
                interval = combine(node, *known)
        interval = _clip(node, interval)
        set_interval(node, interval)
        stack.pop()
    return interval


_COUNTED = frozenset((Kind.BOOL, Kind.INT, Kind.UINT))


def full(node: Node) -> Interval:
    """Everything the dtype holds."""
    return _limits(node.dtype)


@cache
def _limits(dtype: DType) -> Interval:
    return (int(dtype.lowest), int(dtype.highest))


def _clip(node: Node, interval: Interval) -> Interval:
    """An interval that leaves the dtype may have wrapped: then nothing is known."""
    low, high = _limits(node.dtype)
    return interval if low <= interval[0] and interval[1] <= high else (low, high)


def _const(node: Node) -> Interval:
    value = int(node.attr[0])
    return (value, value) if node.attr[1] is None else (min(0, value), max(0, value))


def _var(node: Node) -> Interval:
    return node.attr[1], node.attr[2]


def _range(node: Node, size: Interval) -> Interval:
    return 0, max(0, size[1] - 1)


def _add(node: Node, a: Interval, b: Interval) -> Interval:
    return a[0] + b[0], a[1] + b[1]


def _sub(node: Node, a: Interval, b: Interval) -> Interval:
    return a[0] - b[1], a[1] - b[0]


def _neg(node: Node, a: Interval) -> Interval:
    return -a[1], -a[0]


def _mul(node: Node, a: Interval, b: Interval) -> Interval:
    products = (a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])
    return min(products), max(products)


def truncated_div(a: int, b: int) -> int:
    """C's a / b; 0 where b is 0."""
    if b == 0:
        return 0
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _idiv(node: Node, a: Interval, b: Interval) -> Interval:
    if b[0] <= 0 <= b[1]:
        largest = max(abs(a[0]), abs(a[1]))
        return (-largest if b[0] < 0 or a[0] < 0 else 0), largest
    quotients = [truncated_div(x, y) for x in a for y in b]
    return min(quotients), max(quotients)


def _mod(node: Node, a: Interval, b: Interval) -> Interval:
    if b[0] == b[1] and b[0] > 0 and a[0] >= 0 and a[0] // b[0] == a[1] // b[0]:
        return a[0] % b[0], a[1] % b[0]
    largest = max(abs(b[0]), abs(b[1]), 1) - 1
    return (max(a[0], -largest) if a[0] < 0 else 0), (min(a[1], largest) if a[1] > 0 else 0)


def _max(node: Node, a: Interval, b: Interval) -> Interval:
    return max(a[0], b[0]), max(a[1], b[1])


def _min(node: Node, a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), min(a[1], b[1])


def _where(node: Node, cond: Interval, a: Interval, b: Interval) -> Interval:
    if cond == (1, 1):
        return a
    if cond == (0, 0):
        return b
    limit = _LIMITS.get(node.src[0].op)
    if limit is not None:
        return limit(node, a, b)
    return min(a[0], b[0]), max(a[1], b[1])


def _chosen_by_less(node: Node, a: Interval, b: Interval) -> Interval:
    """WHERE(x < y, ...) that chooses x or y: a minimum, a maximum, or half of a clamp."""
    x, y = node.src[0].src
    _, first, second = node.src
    if first is x and y.interval is not None:
        a = (a[0], min(a[1], y.interval[1] - 1))
    elif first is y and x.interval is not None:
        a = (max(a[0], x.interval[0] + 1), a[1])
    if second is x and y.interval is not None:
        b = (max(b[0], y.interval[0]), b[1])
    elif second is y and x.interval is not None:
        b = (b[0], min(b[1], x.interval[1]))
    return min(a[0], b[0]), max(a[1], b[1])


_LIMITS: dict[Op, Callable[[Node, Interval, Interval], Interval]] = {Op.LT: _chosen_by_less}


def _and(node: Node, a: Interval, b: Interval) -> Interval:
    if a[0] >= 0 and b[0] >= 0:
        both_true = node.dtype.scalar is BOOL and a[0] == b[0] == 1
        return int(both_true), min(a[1], b[1])
    if a[0] >= 0 or b[0] >= 0:
        return 0, a[1] if a[0] >= 0 else b[1]
    return full(node)


def _or(node: Node, a: Interval, b: Interval) -> Interval:
    if a[0] < 0 or b[0] < 0:
        return full(node)
    return max(a[0], b[0]), (1 << max(a[1].bit_length(), b[1].bit_length())) - 1


def _shr(node: Node, a: Interval, b: Interval) -> Interval:
    if a[0] < 0 or b[0] < 0 or b[1] >= node.dtype.bits:
        return full(node)
    return a[0] >> b[1], a[1] >> b[0]


def _shl(node: Node, a: Interval, b: Interval) -> Interval:
    if a[0] < 0 or b[0] < 0 or b[1] >= node.dtype.bits:
        return full(node)
    return a[0] << b[0], a[1] << b[1]


def _lt(node: Node, a: Interval, b: Interval) -> Interval:
    return int(a[1] < b[0]), int(a[0] < b[1])


def _le(node: Node, a: Interval, b: Interval) -> Interval:
    return int(a[1] <= b[0]), int(a[0] <= b[1])


def _eq(node: Node, a: Interval, b: Interval) -> Interval:
    return int(a[0] == a[1] == b[0] == b[1]), int(a[0] <= b[1] and b[0] <= a[1])


def _ne(node: Node, a: Interval, b: Interval) -> Interval:
    low, high = _eq(node, a, b)
    return 1 - high, 1 - low


def _not(node: Node, a: Interval) -> Interval:
    return (1 - a[1], 1 - a[0]) if node.dtype.scalar is BOOL else (~a[1], ~a[0])


def _cast(node: Node, a: Interval) -> Interval:
    if node.dtype.scalar is BOOL:
        return int(a[0] > 0 or a[1] < 0), int(a != (0, 0))
    return a


def _hull(node: Node, *lanes: Interval) -> Interval:
    return min(low for low, _ in lanes), max(high for _, high in lanes)


_LEAVES: dict[Op, Callable[..., Interval]] = {Op.CONST: _const, Op.VAR: _var}
_COMBINE: dict[Op, Callable[..., Interval]] = {
    Op.RANGE: _range,
    Op.SPECIAL: _range,
    Op.ADD: _add,
    Op.SUB: _sub,
    Op.NEG: _neg,
    Op.MUL: _mul,
    Op.IDIV: _idiv,
    Op.MOD: _mod,
    Op.MAX: _max,
    Op.MIN: _min,
    Op.WHERE: _where,
    Op.AND: _and,
    Op.OR: _or,
    Op.SHR: _shr,
    Op.SHL: _shl,
    Op.LT: _lt,
    Op.LE: _le,
    Op.EQ: _eq,
    Op.NE: _ne,
    Op.NOT: _not,
    Op.CAST: _cast,
    Op.SPLAT: _hull,
    Op.STACK: _hull,
    Op.LANE: _hull,
    Op.SHUFFLE: _hull,
}
