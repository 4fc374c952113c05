"""Kernels that add up products: matrix multiplications, matrix times vector, convolutions."""

from dataclasses import dataclass

from compiler.ir import Node, Op, toposort
from compiler.kernel.accesses import Access
from compiler.kernel.heuristics.draft import Draft
from compiler.kernel.kernel import reduces


@dataclass(frozen=True, slots=True)
class Product:
    """REDUCE(ADD) of left * right, with the loads on either side."""

    left: tuple[Access, ...]
    right: tuple[Access, ...]
    is_plain: bool  # both sides are one LOAD


def find_product(draft: Draft) -> Product | None:
    """The product that the only REDUCE of the kernel adds up, if it is one."""
    found = reduces(draft.kernel)
    if len(found) != 1 or found[0].attr[0] is not Op.ADD:
        return None
    value = _below_cast(found[0].src[0])
    if value.op is not Op.MUL:
        return None
    left, right = value.src
    is_plain = left.op is Op.LOAD and right.op is Op.LOAD
    sides = (_loads(draft, left), _loads(draft, right))
    return Product(*sides, is_plain) if all(sides) else None


def _below_cast(node: Node) -> Node:
    return node.src[0] if node.op is Op.CAST else node


def _loads(draft: Draft, side: Node) -> tuple[Access, ...]:
    below = frozenset(toposort(side))
    return tuple([a for a in draft.accesses if not a.is_store and a.node in below])
