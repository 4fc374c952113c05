"""AST -> Kernel: output axes first, none of size 1, neighbours merged where all views allow it."""

from dataclasses import dataclass

from compiler.errors import IRError
from compiler.ir import (
    CHANNELS,
    ELEMENTWISE,
    AxisKind,
    Mask,
    Node,
    Op,
    Size,
    View,
    ViewStack,
    intern,
    replace_src,
    toposort,
)
from compiler.kernel.axis import Axis
from compiler.kernel.kernel import Kernel

_VIEWED = {Op.INDEX: 0, Op.LOAD: 0, Op.STORE: 0, Op.CONST: 1}  # op -> the place of the view in attr
_REDUCE = Op.REDUCE
_ACCESSES = frozenset((Op.LOAD, Op.STORE))
_Group = tuple[int, ...]  # the positions of neighbouring AST axes that become one axis


def from_ast(ast: Node) -> Kernel:
    """The kernel of `ast` before any opt. Its own AST means the same over the kernel's axes."""
    if ast.op is not Op.SINK:
        raise IRError(f"kernel: the root is {ast.op.name}, expected SINK")
    order = toposort(ast)
    names = tuple([name for name, _ in ast.attr[0]])
    reduced = _reduced_by(order, names)
    groups = _merge(_sort(order, ast, reduced), order, reduced)
    if groups != tuple([(position,) for position in range(len(names))]):
        ast = _regroup(order, groups, names)
    kinds = [AxisKind.REDUCE if reduced[group[0]] else AxisKind.GLOBAL for group in groups]
    axes = [
        Axis(name, size, kind, name, 1)
        for (name, size), kind in zip(ast.attr[0], kinds, strict=True)
    ]
    return Kernel(ast, tuple(axes))


def _reduced_by(order: list[Node], names: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """For each axis, which of the kernel's REDUCEs name it."""
    found: dict[str, list[int]] = {name: [] for name in names}
    for number, node in enumerate(order):
        if node.op is _REDUCE:
            for name in node.attr[1]:
                found[name].append(number)
    return tuple([tuple(found[name]) for name in names])


def _sort(order: list[Node], ast: Node, reduced: tuple[tuple[int, ...], ...]) -> list[int]:
    """Positions of the axes that stay: output axes, then reduce axes, each in their order."""
    sizes = [size for _, size in ast.attr[0]]
    views = _outer_views(order)
    stay = [
        position
        for position, size in enumerate(sizes)
        if size != 1 or any(_excludes_zero(view, position) for view in views)
    ]
    return sorted(stay, key=lambda position: bool(reduced[position]))


def _outer_views(order: list[Node]) -> list[View]:
    """The view nearest the kernel's axes of every access."""
    stacks = [node.attr[_VIEWED[node.op]] for node in order if node.op in _VIEWED]
    return list(dict.fromkeys([stack.views[-1] for stack in stacks if stack is not None]))


def _image_views(order: list[Node]) -> list[tuple[View, int]]:
    """The views that walk images, with the elements of a row."""
    return [
        (node.attr[0].views[-1], CHANNELS * node.src[0].attr[2])
        for node in order
        if node.op in _ACCESSES and node.src[0].op is Op.IMAGE and len(node.attr[0].views) == 1
    ]


def _excludes_zero(view: View, position: int) -> bool:
    return view.mask is not None and view.mask[position] != (0, 1)


def _merge(
    positions: list[int], order: list[Node], reduced: tuple[tuple[int, ...], ...]
) -> tuple[_Group, ...]:
    """Neighbours that the same REDUCEs close, or none, and that every view walks as one axis."""
    views, images = _outer_views(order), _image_views(order)
    groups: list[_Group] = []
    for position in positions:
        if groups and reduced[groups[-1][0]] == reduced[position]:
            group = groups[-1]
            if all(_can_merge(view, group, position) for view in views) and not any(
                _leaves_row(view, row, group, position) for view, row in images
            ):
                groups[-1] = (*group, position)
                continue
        groups.append((position,))
    return tuple(groups)


def _can_merge(view: View, group: _Group, position: int) -> bool:
    size, outer = _joined_size(view, group), view.strides[group[-1]]
    inner_size, inner = view.shape[position], view.strides[position]
    if not (isinstance(size, int) and isinstance(inner_size, int)):
        return False  # a symbolic axis stays alone: nothing can be cut from a product with it
    if not (isinstance(outer, int) and isinstance(inner, int)):
        return False
    return outer == inner * inner_size and _join_masks(view, (*group, position)) is not None


def _leaves_row(view: View, row: int, group: _Group, position: int) -> bool:
    """Whether one index would walk in the rows of an image and from row to row: a division for
    each access, where two indices are the x and the y of a pixel."""
    step, size = view.strides[position], _joined_size(view, (*group, position))
    assert isinstance(step, int), "axes that can be merged"
    assert isinstance(size, int), "axes that can be merged"
    return step % row != 0 and abs(step) * size > row


def _joined_size(view: View, group: _Group) -> Size:
    size: Size = 1
    for position in group:
        part = view.shape[position]
        if not (isinstance(size, int) and isinstance(part, int)):
            return part
        size *= part
    return size


def _join_masks(view: View, group: _Group) -> tuple[Size, Size] | None:
    """The interval of the joined index that is valid, when it is one interval."""
    if len(group) == 1:
        return view.bounds[group[0]]
    low, high, size = 0, 1, 1
    for position in group:
        part = view.shape[position]
        bounds = view.bounds[position]
        if not (
            isinstance(part, int) and isinstance(bounds[0], int) and isinstance(bounds[1], int)
        ):
            return None
        if bounds == (0, part):
            low, high = low * part, high * part
        elif high - low == 1 and bounds[0] < bounds[1]:
            low, high = low * part + bounds[0], low * part + bounds[1]
        else:
            return None
        size *= part
    return low, high


@dataclass(frozen=True, slots=True)
class _Regrouping:
    groups: tuple[_Group, ...]
    names: tuple[str, ...]

    def stack(self, stack: ViewStack) -> ViewStack:
        """`stack` seen over the new axes: only its outermost view changes."""
        view = stack.views[-1]
        shape = tuple([_joined_size(view, group) for group in self.groups])
        strides = tuple([view.strides[group[-1]] for group in self.groups])
        return ViewStack((*stack.views[:-1], View(shape, strides, view.offset, self.mask(view))))

    def mask(self, view: View) -> Mask | None:
        if view.mask is None:
            return None
        pairs: list[tuple[Size, Size]] = []
        for group in self.groups:
            pair = _join_masks(view, group)
            assert pair is not None, "merged axes whose masks do not join"
            pairs.append(pair)
        whole = [(0, _joined_size(view, group)) for group in self.groups]
        return None if pairs == whole else tuple(pairs)

    def node(self, node: Node, src: tuple[Node, ...]) -> Node:
        """`node` over new sources and axes. A REDUCE without axes is its source."""
        if node.op in ELEMENTWISE:
            return replace_src(node, src)
        match node.op:
            case Op.INDEX | Op.LOAD | Op.STORE:
                return intern(node.op, node.dtype, src, (self.stack(node.attr[0]),))
            case Op.CONST if node.attr[1] is not None:
                return intern(node.op, node.dtype, src, (node.attr[0], self.stack(node.attr[1])))
            case Op.REDUCE:
                op, closed = node.attr
                kept = [self.names[group[0]] for group in self.groups]
                axes = tuple([name for name in kept if name in closed])
                return intern(node.op, node.dtype, src, (op, axes)) if axes else src[0]
            case _:
                return replace_src(node, src)


def _regroup(order: list[Node], groups: tuple[_Group, ...], names: tuple[str, ...]) -> Node:
    """The AST over the new axes."""
    plan = _Regrouping(groups, names)
    done: dict[Node, Node] = {}
    for node in order:
        done[node] = plan.node(node, tuple([done[child] for child in node.src]))
    root = order[-1]
    sizes = [size for _, size in root.attr[0]]
    axes: list[tuple[str, Size]] = []
    for group in groups:
        axes.append((names[group[0]], _product([sizes[position] for position in group])))
    return intern(Op.SINK, root.dtype, done[root].src, (tuple(axes),))


def _product(sizes: list[Size]) -> Size:
    if len(sizes) == 1:
        return sizes[0]
    total = 1
    for size in sizes:
        assert isinstance(size, int), "merged a symbolic axis"
        total *= size
    return total
