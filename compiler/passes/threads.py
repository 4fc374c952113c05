"""On targets with work-groups: GLOBAL, LOCAL and GROUP ranges become hardware indices."""

from collections.abc import Sequence

from compiler.errors import IRError
from compiler.ir import AxisKind, Node, Op, intern
from compiler.passes.context import Context
from compiler.passes.ranges import of_kind
from compiler.rules import Builder

_SPECIAL = Op.SPECIAL
_INNER = (AxisKind.LOCAL, AxisKind.GROUP)


def threads(root: Node, context: Context) -> Node:
    """Ranges that run in parallel as SPECIALs; on other targets they stay loops."""
    order = context.order(root)
    outer, inner = of_kind(root, order, AxisKind.GLOBAL), of_kind(root, order, *_INNER)
    capabilities = context.target.capabilities
    if not capabilities.has_local:
        if inner:
            raise IRError(f"{inner[0]!r}: target {context.target.profile} has no work-groups")
        return root
    b, dims = context.builder, capabilities.max_grid_dims
    mapping = {**_to_special(b, outer, "group", dims), **_to_special(b, inner, "local", dims)}
    if all(index.op is _SPECIAL for index in mapping.values()):
        return context.renamed(order, mapping)  # of the same bounds: rules find nothing new
    return b.rebuild(root, mapping)


def _to_special(b: Builder, axes: Sequence[Node], prefix: str, dims: int) -> dict[Node, Node]:
    """The last axis is dimension 0; axes for which none is left share the last dimension."""
    mapping: dict[Node, Node] = {}
    from_inside = list(reversed(axes))
    for dim, axis in enumerate(from_inside[: dims - 1]):
        mapping[axis] = intern(Op.SPECIAL, axis.dtype, axis.src, (f"{prefix}{dim}",))
    rest = from_inside[dims - 1 :]
    if not rest:
        return mapping
    total = rest[0].src[0]
    for axis in rest[1:]:
        total = b.mul(total, axis.src[0])
    index = intern(Op.SPECIAL, rest[0].dtype, (total,), (f"{prefix}{dims - 1}",))
    for axis in rest[:-1]:
        mapping[axis] = b.mod(index, axis.src[0])
        index = b.idiv(index, axis.src[0])
    mapping[rest[-1]] = index
    return mapping
