"""The checker that runs between passes: ops, scopes, order. A spec is a line in _SPECS."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from itertools import filterfalse
from typing import TypeAlias

from compiler.errors import VerifyError
from compiler.ir.axes import VIEWED, axes_of_views, free_axes
from compiler.ir.node import Node, attr_nodes, closed_by, loop_parts
from compiler.ir.op import ARRAYS, ELEMENTWISE, AxisKind, Op
from compiler.ir.order import Order, range_set
from compiler.ir.walk import toposort
from compiler.ir.wellformed import find_malformed

_END = Op.END
_VAR, _REDUCE, _STORE = Op.VAR, Op.REDUCE, Op.STORE

_LOOP, _ACC, _RANGE, _INIT, _PROGRAM = Op.LOOP, Op.ACC, Op.RANGE, Op.INIT, Op.PROGRAM
_SINK, _WRITE, _IMAGE = Op.SINK, Op.WRITE, Op.IMAGE
_LANES = frozenset((AxisKind.UPCAST, AxisKind.UNROLL))
_FOLDED = frozenset((AxisKind.REDUCE, AxisKind.UNROLL))
_OPENING = frozenset((Op.RANGE, Op.IF))
_SCOPING = _OPENING | {Op.END, Op.ENDIF, Op.LOOP, Op.INIT}


class Spec(Enum):
    """What a stage may contain."""

    KERNEL = "kernel"  # an AST
    INDEXED = "indexed"  # loops and indices, scalar; FOLD over ranges of every kind
    EXPANDED = "expanded"  # no UPCAST or UNROLL range is left; vectors
    LOOPS = "loops"  # FOLD has become LOOP and RESULT
    LINEAR = "linear"  # one PROGRAM in order


@dataclass(frozen=True, slots=True)
class _Rules:
    root: Op  # nowhere but there
    ops: frozenset[Op]  # below the root
    check_graph: Callable[[Node, Order], str | None]


def verify(
    root: Node,
    spec: Spec,
    where: str = "kernel",
    order: Order | None = None,
    checked: set[Node] | None = None,
) -> None:
    """Raise VerifyError, naming `where`, unless the graph under `root` satisfies `spec`.

    `order` is toposort(root), for callers that have it. `checked` are the nodes that have been
    seen to be right by themselves, in earlier stages of the same kernel; those of `order` enter it.
    """
    rules = _SPECS[spec]
    order = toposort(root) if order is None else order
    broken = _why_strange(root, order, rules, spec) or _why_malformed(order, checked)
    broken = broken or rules.check_graph(root, order)
    if broken is not None:
        raise VerifyError(f"{where}: {broken}")


def _why_strange(root: Node, order: Order, rules: _Rules, spec: Spec) -> str | None:
    if spec is Spec.LINEAR:  # nobody else asks for its nodes by op
        is_right = root.op is rules.root and {node.op for node in order[:-1]} <= rules.ops
    else:
        found = order.by_op()
        strange = found.keys() - rules.ops
        is_right = strange == {root.op} == {rules.root} and len(found[rules.root]) == 1
    if is_right:
        return None
    known = rules.ops | {rules.root}
    for node in order:
        if node.op not in known:
            return f"{node!r}: op {node.op.name} does not belong to the {spec.value} form"
    return f"the root is {root.op.name}, expected the only {rules.root.name}"


def _why_malformed(order: Order, checked: set[Node] | None) -> str | None:
    fresh = order if checked is None else list(filterfalse(checked.__contains__, order))
    found = find_malformed(fresh)
    if found is not None:
        node, reason = found
        return f"{node!r}: {reason}"
    if checked is not None:
        checked.update(fresh)
    return None


def _check_kernel(root: Node, order: Order) -> str | None:
    names = tuple(name for name, _ in root.attr[0])
    shape = tuple(size for _, size in root.attr[0])
    if len(set(names)) != len(names):
        return f"axes {names}: two have the same name"
    if any(isinstance(size, int) and size < 1 for size in shape):
        return f"axes {root.attr[0]}: a size is not positive, an empty kernel is not compiled"
    return (
        _check_buffers(order)
        or _check_variables(order)
        or _check_views(order, shape)
        or _check_symbolic(order)
        or _check_reduces(root, order, names)
    )  # fmt: skip


def _check_buffers(order: Order) -> str | None:
    slots: dict[int, Node] = {}
    for node in order:
        if node.op in ARRAYS:
            if slots.setdefault(node.attr[0], node) is not node:
                return f"two buffers have slot {node.attr[0]}"
            if isinstance(node.attr[1], int) and node.attr[1] < 1:
                return f"buffer {node.attr[0]} has size {node.attr[1]}, expected at least 1"
    if sorted(slots) != list(range(len(slots))):
        return f"slots {sorted(slots)} do not count from 0"
    images = [array for array in slots.values() if array.op is _IMAGE]
    return _why_two_ways(order, images) if images else None


def _why_two_ways(order: Order, images: list[Node]) -> str | None:
    for image in images:
        if len({node.op is _STORE for node in order if image in node.src}) > 1:
            return f"image {image.attr[0]} is read and written, use a BUFFER"
    return None


def _check_variables(order: Order) -> str | None:
    variables: dict[str, Node] = {}
    for node in order:
        if node.op is _VAR and variables.setdefault(node.attr[0], node) is not node:
            return f"two variables are named {node.attr[0]}"
    return None


def _check_views(order: Order, shape: tuple[object, ...]) -> str | None:
    for node in order:
        stack = node.attr[-1] if node.op in VIEWED or node.op is _STORE else None
        if stack is None:
            continue
        if stack.shape != shape:
            return f"{node!r}: the view has shape {stack.shape}, the kernel's axes are {shape}"
        for view in stack.views:
            if any(isinstance(size, int) and size < 1 for size in view.shape):
                return f"{node!r}: view {view} has a size that is not positive"
            if len(view.shape) != len(view.strides) or (
                view.mask is not None and len(view.mask) != len(view.shape)
            ):
                return f"{node!r}: shape, strides and mask of a view differ in rank"
    return None


_SYMBOLIC = frozenset((Op.VAR, Op.CONST, Op.ADD, Op.SUB, Op.MUL, Op.IDIV, Op.MOD, Op.MAX, Op.MIN))


def _check_symbolic(order: Order) -> str | None:
    symbolic = [size for node in order if node.below is not node.src for size in attr_nodes(node)]
    for node in toposort(*symbolic):
        if node.op not in _SYMBOLIC:
            return f"a symbolic size contains {node.op.name}"
    return None


def _check_reduces(root: Node, order: Order, names: tuple[str, ...]) -> str | None:
    reduces = order.of(_REDUCE)
    reduced = {name for node in reduces for name in node.attr[1]}
    if not reduced:
        return None
    if not reduced <= set(names):
        return f"a REDUCE names {sorted(reduced - set(names))}, the axes are {list(names)}"
    free = free_axes(root)
    for node in order.of(_STORE):
        axes = (free[node.src[1]] | axes_of_views(node.attr[0], names)) & reduced
        if axes:
            return f"{node!r}: depends on reduce axes {sorted(axes)} outside their REDUCE"
    return _why_nested(order)


def _why_nested(order: Order) -> str | None:
    """Why no REDUCE may lie below another one that names the same axis."""
    inside: dict[Node, frozenset[str]] = {}  # the axes that are named below a node, if any
    for node in order:
        below = [inside[child] for child in node.src if child in inside]
        if node.op is _REDUCE:
            own = frozenset(node.attr[1])
            twice = own.intersection(frozenset().union(*below))
            if twice:
                return f"nested REDUCEs both name {sorted(twice)}"
            below.append(own)
        if below:
            inside[node] = below[0].union(*below[1:])
    return None


def _check_indexed(root: Node, order: Order) -> str | None:
    """A WRITE to an argument may not depend on a reduce axis outside of the FOLD that closes it."""
    numbers = order.ranges()
    folded = range_set([axis for axis in numbers if axis.attr[1] in _FOLDED], numbers)
    if not folded:
        return None
    free = order.free()
    for node in order.of(_WRITE):
        left = free[node] & folded
        if left and node.src[0].op in ARRAYS:
            axis = next(axis for axis, number in numbers.items() if left >> number & 1)
            return f"{node!r}: depends on {axis!r} outside of the FOLD that closes it"
    return None


def _check_expanded(root: Node, order: Order) -> str | None:
    return _why_lanes_left(order) or _check_indexed(root, order)


def _why_lanes_left(order: Order) -> str | None:
    for node in order.of(_RANGE):
        if node.attr[1] in _LANES:
            return f"{node!r}: an {node.attr[1].name} range is left"
    return None


def _check_loops(root: Node, order: Order) -> str | None:
    owner: dict[Node, Node] = {}
    for node in (*order.of(_LOOP), *order.of(_END)):
        for child in _bound_by(node):
            if owner.setdefault(child, node) is not node:
                return f"{child!r}: belongs to two loops"
    for node in order.of(_ACC):
        if node not in owner:
            return f"{node!r}: belongs to no loop"
    for node in order.of(_RANGE):
        if node not in owner and node.attr[1] is AxisKind.REDUCE:
            return f"{node!r}: a REDUCE range that neither a LOOP nor an END closes"
    return _why_lanes_left(order)


def _bound_by(node: Node) -> tuple[Node, ...]:
    """The ranges and accumulators that belong to a LOOP, or the range of an END."""
    if node.op is _END:
        return node.src[:1]
    ranges, _, accs, _ = loop_parts(node)
    return (*ranges, *accs)


# The open blocks from the outside in: what opened each, and its place in the program.
_Blocks: TypeAlias = list[tuple[Node | None, int]]


def _check_linear(root: Node, order: Order) -> str | None:
    """Uses after definitions and in scope; every RANGE and IF closed, innermost first."""
    program = root.src
    if len(set(program)) != len(program):
        return "an instruction stands twice"
    usable: set[Node] = set()  # values in scope, and accumulators from their INIT on
    blocks: _Blocks = [(None, 0)]
    is_usable, use = usable.issuperset, usable.add
    for place, node in enumerate(program):
        if not is_usable(node.src):
            reason = _why_unusable(node, usable)
            if reason is not None:
                return reason
        if node.op in _SCOPING:
            if _opens_or_closes(node, place, program, blocks, usable):
                continue
            return f"{node!r}: closes {node.src[0]!r}, which is not the innermost open block"
        use(node)
    return None if len(blocks) == 1 else f"{blocks[-1][0]!r}: is never closed"


def _opens_or_closes(
    node: Node, place: int, program: tuple[Node, ...], blocks: _Blocks, usable: set[Node]
) -> bool:
    """Whether a node of _SCOPING may stand here; what it makes and ends is entered."""
    if node.op is _INIT:
        usable.add(node.src[0])  # whatever block it stands in
    elif node.op in _OPENING:
        blocks.append((node, place))
    else:
        for opening in reversed(closed_by(node)):
            if blocks[-1][0] is not opening:
                return False
            usable.difference_update(program[blocks.pop()[1] : place])
    usable.add(node)
    return True


def _why_unusable(node: Node, usable: set[Node]) -> str | None:
    for child in node.src:
        if child in usable:
            continue
        if child.op is not _ACC:
            return f"{node!r}: uses {child!r} before its definition or outside its loop"
        if node.op is not _INIT:
            return f"{node!r}: uses {child!r} before its INIT"
    return None


_INDEXED_OPS = ELEMENTWISE | {
    *(*ARRAYS, Op.VAR, Op.CONST, Op.RANGE, Op.SPECIAL, Op.READ, Op.WRITE, Op.FOLD),
    *(Op.LOCAL, Op.BARRIER, Op.AFTER, Op.END),
    *(Op.SPLAT, Op.FRAGMENT, Op.WMMA, Op.ELEMENT),
}
_EXPANDED_OPS = (_INDEXED_OPS - {Op.FRAGMENT, Op.ELEMENT}) | {Op.STACK, Op.LANE, Op.SHUFFLE}
_LOOP_OPS = (_EXPANDED_OPS - {Op.FOLD}) | {Op.ACC, Op.LOOP, Op.RESULT}
_LINEAR_OPS = _LOOP_OPS | {Op.INIT, Op.SET, Op.END, Op.IF, Op.ENDIF}
_KERNEL_OPS = ELEMENTWISE | {
    *(*ARRAYS, Op.VAR, Op.CONST, Op.INDEX, Op.LOAD, Op.GATHER, Op.REDUCE, Op.STORE),
}
_SPECS: dict[Spec, _Rules] = {
    Spec.KERNEL: _Rules(_SINK, _KERNEL_OPS, _check_kernel),
    Spec.INDEXED: _Rules(_SINK, _INDEXED_OPS, _check_indexed),
    Spec.EXPANDED: _Rules(_SINK, _EXPANDED_OPS, _check_expanded),
    Spec.LOOPS: _Rules(_SINK, _LOOP_OPS, _check_loops),
    Spec.LINEAR: _Rules(_PROGRAM, _LINEAR_OPS, _check_linear),
}
