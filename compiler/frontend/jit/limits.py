"""What a kernel takes for granted of its symbolic sizes: 64 bits hold them."""

from collections.abc import Iterator

from compiler.frontend.assumptions import Assumption, fitting
from compiler.ir import Node, Op, toposort

_ARITHMETIC = (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.IDIV, Op.MOD, Op.MAX, Op.MIN)
_EXACT = (Op.ADD, Op.SUB, Op.MUL, Op.NEG)  # right modulo 2**64, whatever is between


def limits_of(kernel: Node) -> Iterator[Assumption]:
    """That each size of a kernel fits, where other values of its variables may be too great."""
    sizes: set[Node] = set()
    used: dict[Node, None] = {}
    for node in toposort(kernel):
        parts = [part for part in node.below if part in sizes]
        if node.op is Op.VAR or (parts and node.op in _ARITHMETIC and _is_size(node, sizes)):
            sizes.add(node)
        if node not in sizes or node.op not in _EXACT:
            used.update(dict.fromkeys(parts))
    for size in used:
        yield from fitting(size)


def _is_size(node: Node, sizes: set[Node]) -> bool:
    return all(part in sizes or part.op is Op.CONST for part in node.src)
