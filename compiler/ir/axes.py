"""On which axes of its kernel a value of an AST depends."""

from collections.abc import Mapping
from functools import lru_cache

from compiler.ir.node import Node
from compiler.ir.op import Op
from compiler.ir.viewstack import ViewStack
from compiler.ir.walk import toposort

_REDUCE = Op.REDUCE
VIEWED = frozenset((Op.INDEX, Op.LOAD, Op.CONST))
_NONE: frozenset[str] = frozenset()


@lru_cache(maxsize=16)  # the checker, the heuristics and the estimates ask about one kernel
def free_axes(ast: Node) -> Mapping[Node, frozenset[str]]:
    """For each node of an AST, the axes its value depends on and no REDUCE below it has closed."""
    names = tuple([name for name, _ in ast.attr[0]])
    free: dict[Node, frozenset[str]] = {}
    for node in toposort(ast):
        below = [free[child] for child in node.src]
        axes = _NONE.union(*below) if len(below) > 1 else (below[0] if below else _NONE)
        if node.op in VIEWED and node.attr[-1] is not None:
            axes = axes_of_views(node.attr[-1], names)
        elif node.op is _REDUCE:
            axes = axes.difference(node.attr[1])
        free[node] = axes
    return free


def axes_of_views(stack: ViewStack, names: tuple[str, ...]) -> frozenset[str]:
    """The axes on which the place of an access, or whether it is valid, depends."""
    view = stack.views[-1]
    if view.is_void:
        return _NONE  # 0 everywhere, whatever the mask of an axis says
    moving = {name for name, stride in zip(names, view.strides, strict=True) if stride != 0}
    if view.mask is not None:
        bounded = zip(names, view.mask, view.shape, strict=True)
        moving |= {name for name, (low, high), size in bounded if (low, high) != (0, size)}
    return frozenset(moving)
