"""Making ASTs again with parts changed."""

from collections.abc import Callable, Mapping

from compiler.ir import Node, Op, Size, ViewStack, intern, toposort

_VIEWED = {Op.LOAD: 0, Op.STORE: 0, Op.INDEX: 0, Op.CONST: 1}  # where the view is in `attr`


def rebuilt(root: Node, change: Callable[[Node, tuple[Node, ...]], Node]) -> Node:
    """`root` with each node made anew from what its sources have become, sources first."""
    done: dict[Node, Node] = {}
    for node in toposort(root):
        done[node] = change(node, tuple([done[child] for child in node.src]))
    return done[root]


def view_of(node: Node) -> ViewStack | None:
    """The view of a node over the domain, if it has one."""
    if node.op not in _VIEWED:
        return None
    view = node.attr[_VIEWED[node.op]]
    return view if isinstance(view, ViewStack) else None


def with_view(node: Node, src: tuple[Node, ...], view: ViewStack | None) -> Node:
    """A node with other sources, and another view where it has one."""
    if view is None:
        return intern(node.op, node.dtype, src, node.attr)
    place = _VIEWED[node.op]
    attr = (*node.attr[:place], view, *node.attr[place + 1 :])
    return intern(node.op, node.dtype, src, attr)


def with_domain(
    root: Node,
    axes: tuple[tuple[str, Size], ...],
    change: Callable[[ViewStack], ViewStack],
    reduced: Callable[[tuple[str, ...]], tuple[str, ...]] = lambda names: names,
) -> Node:
    """`root` over other axes: every view changed, REDUCEs over no axis left out."""

    def changed(node: Node, src: tuple[Node, ...]) -> Node:
        if node.op is Op.SINK:
            return intern(node.op, node.dtype, src, (axes,))
        if node.op is Op.REDUCE:
            names = reduced(node.attr[1])
            return intern(node.op, node.dtype, src, (node.attr[0], names)) if names else src[0]
        view = view_of(node)
        return with_view(node, src, None if view is None else change(view))

    return rebuilt(root, changed)


def renumbered(root: Node) -> Node:
    """Slots without gaps, outputs first, in the order they had."""
    order = toposort(root)
    written = {node.src[0] for node in order if node.op is Op.STORE}
    buffers = [node for node in order if node.op is Op.BUFFER]
    buffers.sort(key=lambda node: (node not in written, node.attr[0]))
    slots: Mapping[Node, int] = {node: slot for slot, node in enumerate(buffers)}

    def changed(node: Node, src: tuple[Node, ...]) -> Node:
        if node.op is Op.BUFFER:
            return intern(node.op, node.dtype, src, (slots[node], node.attr[1]))
        return intern(node.op, node.dtype, src, node.attr)

    return rebuilt(root, changed)
