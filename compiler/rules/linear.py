"""Integer expressions as sums of terms: what divisions, comparisons and strides are decided on."""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from compiler.ir import Interval, Node, Op, bounds
from compiler.rules.builder import Builder

_ADD, _SUB, _MUL, _NEG, _CONST = Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.CONST

Terms = Mapping[Node, int]


@lru_cache(maxsize=128)  # several rules ask about the same operand, one after the other
def linear(root: Node) -> tuple[Terms, int]:
    """Coefficients of the non-linear parts of `root`, in order of appearance, and the constant.

    The sum equals `root` modulo 2**bits; it is exact where `exact_interval` fits the dtype.
    """
    terms: dict[Node, int] = {}
    constant = 0
    stack: list[tuple[Node, int]] = [(root, 1)]
    while stack:
        node, factor = stack.pop()
        op = node.op
        if op is _ADD:
            stack.append((node.src[1], factor))
            stack.append((node.src[0], factor))
        elif op is _SUB:
            stack.append((node.src[1], -factor))
            stack.append((node.src[0], factor))
        elif op is _NEG:
            stack.append((node.src[0], -factor))
        elif op is _MUL and node.src[1].is_const:
            stack.append((node.src[0], factor * int(node.src[1].value)))
        elif op is _CONST and node.is_const:
            constant += factor * int(node.value)
        else:
            terms[node] = terms.get(node, 0) + factor
    return {node: factor for node, factor in terms.items() if factor != 0}, constant


def exact_interval(terms: Terms, constant: int) -> Interval:
    """The interval of the sum over the integers, without wrapping."""
    low = high = constant
    for node, factor in terms.items():
        least, most = bounds(node)
        if factor < 0:
            least, most = most, least
        low, high = low + factor * least, high + factor * most
    return low, high


def fits(node: Node, interval: Interval) -> bool:
    """Whether every value of `interval` is representable in the dtype of `node`."""
    return int(node.dtype.lowest) <= interval[0] and interval[1] <= int(node.dtype.highest)


@lru_cache(maxsize=128)  # likewise
def exact_linear(root: Node) -> tuple[Terms, int, Interval] | None:
    """The terms of `root` where the sum cannot wrap, else None."""
    terms, constant = linear(root)
    interval = exact_interval(terms, constant)
    return (terms, constant, interval) if fits(root, interval) else None


def build_linear(b: Builder, like: Node, terms: Iterable[tuple[Node, int]], constant: int) -> Node:
    """The sum as nodes of the dtype of `like`: terms in order, the constant last."""
    total: Node | None = None
    for node, factor in terms:
        term = node if factor == 1 else b.mul(node, factor)
        total = term if total is None else b.add(total, term)
    if total is None:
        return b.const(like.dtype, constant)
    return total if constant == 0 else b.add(total, constant)
