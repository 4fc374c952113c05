"""Walks over graphs of nodes."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from compiler.ir.node import Node, intern
from compiler.ir.op import Op
from compiler.ir.order import Order

_SINK = Op.SINK


def toposort(*roots: Node) -> Order:
    """Every node reachable from `roots` once, operands first, in depth-first order of operands."""
    if len(roots) == 1 and roots[0].op is _SINK:
        return _order_of_kernel(roots[0])
    return Order(_walk(roots))


@lru_cache(maxsize=16)  # all that looks at a kernel asks, and then for the nodes of some op
def _order_of_kernel(root: Node) -> Order:
    return Order(_walk((root,)))


def _walk(roots: Iterable[Node]) -> dict[Node, None]:
    done: dict[Node, None] = {}  # in order
    above: list[
        tuple[Node, Iterator[Node]]
    ] = []  # from a root down to `node`: what is left of each
    for root in roots:
        if root in done:
            continue
        node, rest = root, iter(root.below)
        while True:
            for child in rest:
                if child in done:
                    continue
                below = child.below
                if below:
                    above.append((node, rest))
                    node, rest = child, iter(below)
                    break
                done[child] = None
            else:
                done[node] = None
                if not above:
                    break
                node, rest = above.pop()
    return done


def substitute(
    root: Node, mapping: Mapping[Node, Node], build: Callable[..., Node] = intern
) -> Node:
    """`root` with nodes replaced by `mapping`; nodes above one are made again with `build`.

    Sources only: symbolic sizes inside attributes stay.
    """
    changed: dict[Node, Node] = dict(mapping)
    untouched, now = changed.keys().isdisjoint, changed.get
    for node in toposort(root):
        if node in changed or untouched(node.src):
            continue
        src = tuple(map(now, node.src, node.src))
        if src != node.src:
            changed[node] = build(node.op, node.dtype, src, node.attr)
    return now(root, root)


def renamed(order: Order, mapping: Mapping[Node, Node]) -> Order:
    """The graph whose `order` this is with leaves replaced, each by one of its own sources.

    Nothing else in the graph is like those, so that a walk would go the same way: none is made.
    """
    changed: dict[Node, Node] = dict(mapping)
    untouched, now = changed.keys().isdisjoint, changed.get
    for node in order:
        if node not in changed and not untouched(node.src):
            src = tuple(map(now, node.src, node.src))
            changed[node] = intern(node.op, node.dtype, src, node.attr)
    return Order(map(now, order, order))


def depends_on(root: Node, targets: Iterable[Node]) -> bool:
    """Whether any of `targets` is reachable from `root`."""
    wanted = frozenset(targets)
    return any(node in wanted for node in toposort(root))
