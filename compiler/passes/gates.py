"""Every access is proven to be inside its buffer, or guarded.

A gated READ reads element 0 where its gate is false, and its value is then replaced by 0. A gated
WRITE stays gated: it becomes a branch, or goes where the gate is never true.
"""

from collections.abc import Mapping
from functools import lru_cache

from compiler.errors import IRError
from compiler.ir import (
    BOOL,
    INT64,
    PLACE,
    VOID,
    DType,
    Node,
    Op,
    bounds,
    intern,
    replace_src,
    sym,
    toposort,
)
from compiler.passes.context import Context
from compiler.passes.demands import Guards, conjuncts, find_guards
from compiler.rules import Builder, build_linear, linear

_STACK, _SPLAT, _AFTER, _RANGE, _SPECIAL = Op.STACK, Op.SPLAT, Op.AFTER, Op.RANGE, Op.SPECIAL
_VAR, _CONST = Op.VAR, Op.CONST
_NOTHING: Guards = frozenset()
_INDICES = frozenset((_RANGE, _SPECIAL))
_READ, _WRITE, _SINK = Op.READ, Op.WRITE, Op.SINK
_JUDGED = frozenset((_READ, _WRITE, _SINK))  # the others only follow their sources


def gates(root: Node, context: Context) -> Node:
    """The graph with READs that need no gate."""
    b, order = context.builder, context.order(root)
    if all(_stays(b, node) for node in (*order.of(_READ), *order.of(_WRITE))):
        return root
    changed: dict[Node, Node] = {}
    untouched, now = changed.keys().isdisjoint, changed.get
    guards = find_guards(order)
    for node in order:
        src = node.src
        if changed and not untouched(src):
            src = tuple(map(now, src, src))
        elif node.op not in _JUDGED:
            continue
        after = _judged(b, node, src, guards)
        if after is not node:
            changed[node] = after
    return changed.get(root, root)


def _stays(b: Builder, access: Node) -> bool:
    """Whether an access has no gate and needs none."""
    src, is_read = access.src, access.op is _READ
    if len(src) != (2 if is_read else 3):
        return False
    count = (access if is_read else src[2]).dtype.count
    return src[1].dtype is PLACE or _is_inside(b, access, src[0], src[1], count)


def _judged(b: Builder, node: Node, src: tuple[Node, ...], guards: Mapping[Node, Guards]) -> Node:
    """What a node becomes over `src`."""
    op = node.op
    if op is _READ and src[1].dtype is not PLACE:
        return _read(b, node, src, guards.get(node, _NOTHING))
    if op is _WRITE:
        return _write(b, node, src)
    if op is _SINK:
        return replace_src(node, tuple([each for each in src if not _is_never(each)]))
    return node if src is node.src else b.build(op, node.dtype, src, node.attr)


def _read(b: Builder, node: Node, src: tuple[Node, ...], guards: Guards) -> Node:
    buffer, offset = src[:2]
    count = node.dtype.count
    proven = _is_inside(b, node, buffer, offset, count)
    if len(src) == 2 and proven:
        return node if src == node.src else intern(_READ, node.dtype, src)
    gate = src[2] if len(src) == 3 else _guard(b, buffer, offset, count)
    if gate.is_const:
        return intern(_READ, node.dtype, src[:2]) if gate.value else b.const(node.dtype, 0)
    if gate.dtype.count > 1:
        return intern(_READ, node.dtype, (buffer, offset, gate))
    if proven:
        value = intern(_READ, node.dtype, (buffer, offset))
    elif count > 1 and not _holds(buffer, count):
        lanes = [_safe_read(b, node, buffer, b.add(offset, lane), gate) for lane in range(count)]
        value = b.build(_STACK, node.dtype, tuple(lanes))
    else:
        value = intern(_READ, node.dtype, (buffer, _safe(b, buffer, offset, gate, count)))
    if len(src) == 3 and conjuncts(node.src[2]) <= guards:
        return value  # whatever it is where the gate is false: nobody asks
    return b.where(_spread(b, gate, count), value, b.const(node.dtype, 0))


def _safe_read(b: Builder, node: Node, buffer: Node, offset: Node, gate: Node) -> Node:
    return intern(_READ, node.dtype.scalar, (buffer, _safe(b, buffer, offset, gate, 1)))


def _safe(b: Builder, buffer: Node, offset: Node, gate: Node, count: int) -> Node:
    """`offset` where the gate holds, and somewhere inside of the buffer where it does not.

    What does not change with the gate stays outside of the choice, which is then made once for all
    iterations of the loops that it belongs to.
    """
    chosen = _indices(gate)
    terms, constant = linear(offset)
    fixed: list[tuple[Node, int]] = []
    moving: list[tuple[Node, int]] = []
    for term in terms.items():
        (moving if chosen.isdisjoint(_indices(term[0])) else fixed).append(term)
    rest = build_linear(b, b.const(offset.dtype, 0), moving, 0)
    low, high = bounds(rest)
    if not fixed or low < 0 or high + count > _least_size(buffer):
        return b.where(gate, offset, 0)
    base = build_linear(b, b.const(offset.dtype, 0), fixed, constant)
    return b.add(b.where(gate, base, 0), rest)


@lru_cache(maxsize=128)  # the lanes of a vector have terms and gates in common
def _indices(value: Node) -> frozenset[Node]:
    """The loops that a value depends on; only asked."""
    return frozenset([node for node in toposort(value) if node.op in _INDICES])


def _spread(b: Builder, gate: Node, count: int) -> Node:
    return gate if count == 1 else b.build(_SPLAT, BOOL.vec(count), (gate,))


def _write(b: Builder, node: Node, src: tuple[Node, ...]) -> Node:
    buffer, offset, value = src[:3]
    gate = src[3] if len(src) == 4 else None
    if (
        gate is None
        and offset.dtype is not PLACE
        and not _is_inside(b, node, buffer, offset, value.dtype.count)
    ):
        gate = _guard(b, buffer, offset, value.dtype.count)
    if gate is None or (gate.is_const and gate.value):
        return replace_src(node, src[:3])
    return intern(_WRITE, VOID, (buffer, offset, value, gate))


def _is_never(node: Node) -> bool:
    """Whether this is a WRITE of a lane that lies in padding."""
    return node.op is _WRITE and len(node.src) == 4 and node.src[3].is_const


def _buffer_of(node: Node) -> Node:
    while node.op is _AFTER:
        node = node.src[0]
    return node


def _least_size(buffer: Node) -> int:
    size = _buffer_of(buffer).attr[1]
    return size if isinstance(size, int) else bounds(size)[0]


def _holds(buffer: Node, count: int) -> bool:
    """Whether `count` elements from the first are inside."""
    return count <= _least_size(buffer)


def _is_inside(b: Builder, node: Node, buffer: Node, offset: Node, count: int) -> bool:
    """Whether an access is proven to be in bounds; one that is proven to be outside is our bug."""
    low, high = bounds(offset)
    size = _buffer_of(buffer).attr[1]
    if low >= 0 and isinstance(size, int) and high + count <= size:
        return True
    gated = len(node.src) == (3 if node.op is _READ else 4)
    largest = size if isinstance(size, int) else bounds(size)[1]
    if not gated and (high < 0 or low + count > largest):
        raise IRError(
            f"{node!r}: accesses elements {low} to {high + count - 1} of {largest}, without a gate"
        )
    if low >= 0 and isinstance(size, Node) and high + count > bounds(size)[0]:
        return _fits_symbolically(b, offset, count, size)
    return low >= 0 and high + count <= _least_size(buffer)


def _fits_symbolically(b: Builder, offset: Node, count: int, size: Node) -> bool:
    """Whether offset + count <= size for all values of the variables, every index at its last."""
    ranges = [node for node in toposort(offset) if node.op in (_RANGE, _SPECIAL)]
    last = {axis: sym.sub(axis.src[0], 1) for axis in ranges}
    largest = sym.greatest(offset, last)
    if largest is None:
        return False
    return sym.is_at_most(sym.add(largest, count), _in_dtype(b, size, offset.dtype))


def _in_dtype(b: Builder, size: Node, dtype: DType) -> Node:
    """A size as indices are computed: on variables that were converted first."""
    done: dict[Node, Node] = {}
    for node in toposort(size):
        if node.op is _VAR:
            done[node] = b.cast(node, dtype)
        elif node.op is _CONST:
            done[node] = b.const(dtype, node.value)
        else:
            done[node] = b.build(node.op, dtype, tuple([done[child] for child in node.src]))
    return done[size]


def _guard(b: Builder, buffer: Node, offset: Node, count: int) -> Node:
    """0 <= offset and offset + count <= size, computed where it runs."""
    size = _buffer_of(buffer).attr[1]
    if isinstance(size, int):
        limit = b.const(offset.dtype, size - count)
    else:
        offset = b.cast(offset, INT64)
        limit = b.sub(b.cast(size, INT64), count)
    return b.and_(b.le(b.const(offset.dtype, 0), offset), b.le(offset, limit))
