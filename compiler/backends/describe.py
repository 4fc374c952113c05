"""What a kernel takes and how it is launched, read off its IR."""

from collections.abc import Mapping
from functools import lru_cache

from compiler.backends.base import Argument, Launch, Role
from compiler.ir import ARRAYS, AxisKind, Node, Op, Size, closed_by, intern, toposort

_AFTER, _IMAGE, _VAR, _SPECIAL, _RANGE = Op.AFTER, Op.IMAGE, Op.VAR, Op.SPECIAL, Op.RANGE
_MUL, _CONST, _LOCAL = Op.MUL, Op.CONST, Op.LOCAL

_WRITES = frozenset((Op.STORE, Op.WRITE))
_READS = frozenset((Op.LOAD, Op.GATHER, Op.READ))
_OPENING = frozenset((Op.RANGE, Op.IF))
_CLOSING = frozenset((Op.END, Op.ENDIF, Op.LOOP))


def buffer_of(node: Node) -> Node:
    """The BUFFER, IMAGE or LOCAL below any AFTERs."""
    while node.op is _AFTER:
        node = node.src[0]
    return node


def arguments_of(root: Node) -> tuple[Argument, ...]:
    """The arguments of a kernel at any stage: buffers by slot, then variables by name."""
    order = toposort(root)
    written = {buffer_of(node.src[0]) for node in order if node.op in _WRITES}
    read = {buffer_of(node.src[0]) for node in order if node.op in _READS}
    arrays = sorted((n for n in order if n.op in ARRAYS), key=lambda node: node.attr[0])
    variables = sorted((n for n in order if n.op is _VAR), key=lambda node: node.attr[0])
    return (
        *[_array(n, _role(n in read, n in written)) for n in arrays],
        *[
            Argument(Role.VARIABLE, n.attr[0], n.dtype, limits=(n.attr[1], n.attr[2]))
            for n in variables
        ],
    )


def _array(node: Node, role: Role) -> Argument:
    width = node.attr[2] if node.op is _IMAGE else None
    return Argument(role, f"data{node.attr[0]}", node.dtype, node.attr[1], width=width)


def _role(read: bool, written: bool) -> Role:  # noqa: FBT001  # two bits of a table
    if not written:
        return Role.INPUT
    return Role.INOUT if read else Role.OUTPUT


@lru_cache(maxsize=4)  # asked once for the kernel and once for each of its indices
def group_size(program: Node) -> Mapping[str, int]:
    """Work items of a group in each dimension that has a local index: {"0": 16}."""
    return {
        node.attr[0][-1]: int(node.src[0].value)
        for node in program.src
        if node.op is _SPECIAL and node.attr[0].startswith("local")
    }


def launch_of(program: Node) -> Launch:
    """The launch of a PROGRAM, from its hardware indices or else its outermost GLOBAL range."""
    specials = {node.attr[0]: node.src[0] for node in program.src if node.op is _SPECIAL}
    if not specials:
        outer = outermost_range(program)
        return Launch() if outer is None else Launch((_size(outer.src[0]),))
    dims = 1 + max(int(name[-1]) for name in specials)
    # local memory is shared by a group: where work items have no index in it, each is one
    is_shared = any(node.op is _LOCAL for node in program.src)
    has_groups = is_shared or any(name.startswith("local") for name in specials)
    local = [
        int(specials[f"local{d}"].value) if f"local{d}" in specials else 1 for d in range(dims)
    ]
    items = [
        _times(_size(specials[f"group{d}"]), local[d]) if f"group{d}" in specials else local[d]
        for d in range(dims)
    ]
    return Launch(tuple(items), tuple(local) if has_groups else ())


def outermost_range(program: Node) -> Node | None:
    """The GLOBAL range that is inside no other range and no IF; None where there is none."""
    depth = 0
    for node in program.src:
        if node.op in _OPENING:
            if depth == 0 and node.op is _RANGE and node.attr[1] is AxisKind.GLOBAL:
                return node
            depth += 1
        elif node.op in _CLOSING:
            depth -= len(closed_by(node))
    return None


def _size(node: Node) -> Size:
    return int(node.value) if node.is_const else node


def _times(size: Size, count: int) -> Size:
    if isinstance(size, int):
        return size * count
    return intern(_MUL, size.dtype, (size, intern(_CONST, size.dtype, (), (count, None))))
