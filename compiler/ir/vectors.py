"""What nodes that make vectors, or take them apart, must be by themselves."""

from collections.abc import Callable, Mapping

from compiler.ir.cores import find_core
from compiler.ir.node import Node
from compiler.ir.op import Op
from compiler.ir.sources import dtypes_of, why_not_arity


def _splat(node: Node) -> str | None:
    reason = why_not_arity(node, 1)
    if reason is None and (node.dtype.count < 2 or node.src[0].dtype is not node.dtype.scalar):
        reason = f"{node.dtype} of {dtypes_of(node)}"
    return reason


def _stack(node: Node) -> str | None:
    scalar = node.dtype.scalar
    if len(node.src) != node.dtype.count or [c for c in node.src if c.dtype is not scalar]:
        return f"{node.dtype} of {dtypes_of(node)}"
    return None


def _lane(node: Node) -> str | None:
    if len(node.src) != 1:
        return why_not_arity(node, 1)
    vector, index = node.src[0].dtype, node.attr[0]
    if not (vector.count > index >= 0 and vector.count > 1):
        return f"lane {index} of {vector}"
    return None if node.dtype is vector.scalar else f"dtype {node.dtype} of a lane of {vector}"


def _shuffle(node: Node) -> str | None:
    reason = why_not_arity(node, 1, 2)
    if reason is not None:
        return reason
    vector, lanes = node.src[0].dtype, node.attr[0]
    if vector.count < 2 or node.src[-1].dtype is not vector:
        return f"takes lanes of {dtypes_of(node)}, expected vectors of one dtype"
    if node.dtype is not vector.scalar.vec(len(lanes)) or len(lanes) < 2:
        return f"{node.dtype} of {len(lanes)} lanes of {vector}"
    count = vector.count * len(node.src)
    low, high = min(lanes), max(lanes)
    return None if low >= 0 and high < count else f"lanes {low} to {high} of {count}"


def _fragment(node: Node) -> str | None:
    reason = _why_not_ranges(node)
    if reason is None and node.src[0].dtype is not node.dtype.scalar:
        reason = f"{node.dtype} of {node.src[0].dtype}"
    return reason or _why_not_counted(node, node.dtype.count)


def _element(node: Node) -> str | None:
    reason = _why_not_ranges(node)
    if reason is None and node.src[0].dtype.scalar is not node.dtype:
        reason = f"{node.dtype} of {node.src[0].dtype}"
    return reason or _why_not_counted(node, node.src[0].dtype.count)


def _why_not_ranges(node: Node) -> str | None:
    if len(node.src) < 2 or any(child.op is not Op.RANGE for child in node.src[1:]):
        return "is of a value and the ranges that count its elements"
    return None


def _why_not_counted(node: Node, count: int) -> str | None:
    total = 1
    for axis in node.src[1:]:
        total *= int(axis.src[0].value) if axis.src[0].is_const else 0
    return None if total == count else f"{total} elements of {count}"


def _wmma(node: Node) -> str | None:
    core = find_core(node.attr[0])
    if core is None:
        return f"core {node.attr[0]} is unknown"
    layouts = (core.a, core.b, core.c)
    wanted = [d.vec(each.count) for d, each in zip(core.dtypes, layouts, strict=True)]
    given = [child.dtype for child in node.src]
    if given != wanted or node.dtype is not wanted[2]:
        return f"operands are {dtypes_of(node)}, expected {', '.join(d.name for d in wanted)}"
    return None


VECTORS: Mapping[Op, Callable[[Node], str | None]] = {
    Op.SPLAT: _splat,
    Op.STACK: _stack,
    Op.LANE: _lane,
    Op.SHUFFLE: _shuffle,
    Op.FRAGMENT: _fragment,
    Op.WMMA: _wmma,
    Op.ELEMENT: _element,
}
