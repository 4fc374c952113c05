"""The sizes of a kernel's loops in the colours of their roles. To add a role: a line in COLOURS."""

import re
from collections.abc import Mapping
from enum import Enum

from compiler.ir import AxisKind, Node, Op, Size
from compiler.kernel.axis import Axis
from compiler.kernel.kernel import Kernel


class Role(Enum):
    """What a loop is to whoever reads the schedule."""

    GLOBAL = "global"
    GLOBAL_ALONE = "global, work-groups ruled out"
    LOCAL = "local"
    ITEM = "local, work item of a tensor core"
    GROUP = "group-reduce"
    REDUCE = "reduce"
    UNROLL = "unrolled reduce"
    UPCAST = "upcast"


COLOURS: Mapping[Role, int] = {  # codes of ANSI terminals (ECMA-48, SGR)
    Role.GLOBAL: 34,  # blue
    Role.GLOBAL_ALONE: 94,  # bright blue
    Role.LOCAL: 36,  # cyan
    Role.ITEM: 96,  # bright cyan
    Role.GROUP: 32,  # green
    Role.REDUCE: 31,  # red
    Role.UNROLL: 35,  # magenta
    Role.UPCAST: 33,  # yellow
}
_ROLES = {
    AxisKind.LOCAL: Role.LOCAL,
    AxisKind.GROUP: Role.GROUP,
    AxisKind.REDUCE: Role.REDUCE,
    AxisKind.UNROLL: Role.UNROLL,
    AxisKind.UPCAST: Role.UPCAST,
}
_WIDTH = 4
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_SIGNS = {Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.IDIV: "//", Op.MOD: "%"}


def role_of(kernel: Kernel, axis: Axis) -> Role:
    """What `axis` is to `kernel`."""
    if axis.kind is AxisKind.GLOBAL:
        return Role.GLOBAL if kernel.uses_locals else Role.GLOBAL_ALONE
    if kernel.tile is not None and axis.name in kernel.tile.items:
        return Role.ITEM
    return _ROLES[axis.kind]


def coloured_shape(
    kernel: Kernel, *, pad: int = 0, is_dense: bool = False, is_coloured: bool = True
) -> str:
    """The sizes of all loops, in nesting order, filled up with blanks to `pad` visible characters.

    Numbers take four places each, or with `is_dense` as many as they need.
    """
    sizes = [(role_of(kernel, axis), _text(axis.size)) for axis in kernel.axes]
    texts = [(role, text if is_dense else text.rjust(_WIDTH)) for role, text in sizes]
    shown = [f"\x1b[{COLOURS[role]}m{text}\x1b[0m" for role, text in texts]
    line = " ".join(shown if is_coloured else [text for _, text in texts])
    return line + " " * (pad - visible_length(line))


def visible_length(text: str) -> int:
    """How many places `text` takes on a terminal."""
    return len(_ESCAPE.sub("", text))


def _text(size: Size) -> str:
    return str(size) if isinstance(size, int) else _formula(size)


def _formula(node: Node) -> str:
    """A symbolic size as a formula of its variables."""
    if node.op is Op.VAR:
        return str(node.attr[0])
    if node.op is Op.CONST:
        return str(node.value)
    parts = [_formula(source) for source in node.src]
    if node.op in _SIGNS:
        return f"({_SIGNS[node.op].join(parts)})"
    return f"{node.op.name.lower()}({','.join(parts)})"
