"""Cutting an axis in two and giving one piece another kind: what most opts do, and when."""

from collections.abc import Sequence
from enum import Enum, auto

from compiler.ir import AxisKind, Node, Size
from compiler.kernel.axis import Axis
from compiler.kernel.kernel import Kernel, Opt, in_nesting_order


class Side(Enum):
    """Which piece of an axis gets the new kind."""

    INNER = auto()  # neighbouring iterations stay together in one piece
    OUTER = auto()


def find_axis(kernel: Kernel, name: str, kinds: tuple[AxisKind, ...], needs: str) -> Axis | str:
    """The axis called `name`, or why it is not one of `kinds`."""
    axis = kernel.find(name) if isinstance(name, str) else None
    if axis is None:
        known = " ".join([other.name for other in kernel.axes]) or "no axis"
        return f"no axis {name}, the kernel has {known}"
    if kernel.tile is not None and name in kernel.tile.axes:
        return f"{name} belongs to the tensor core {kernel.tile.core.name}"
    if axis.kind not in kinds:
        return f"needs {needs}, {name} is {axis.kind.name}"
    return axis


def why_bad_amount(amount: Size) -> str | None:
    """Why `amount` is not a number of iterations to cut off."""
    if isinstance(amount, Node):
        return f"amount {amount!r} is symbolic, use an integer above 1"
    if not isinstance(amount, int) or isinstance(amount, bool):
        return f"amount {amount} is {type(amount).__name__}, use an integer above 1"
    return f"amount {amount}, use an integer above 1" if amount <= 1 else None


def why_uncuttable(axis: Axis, amount: int) -> str | None:
    """Why `axis` does not fall into pieces of `amount`."""
    reason = why_bad_amount(amount)
    if reason is not None:
        return reason
    if isinstance(axis.size, Node):
        return f"{axis.name} has a symbolic size, use an axis of constant size"
    if axis.size % amount != 0:
        return (
            f"{amount} does not divide {axis.name} of size {axis.size}, "
            f"use a divisor or PADTO {axis.name} {amount} first"
        )
    return None


def cut(kernel: Kernel, name: str, amount: int, kind: AxisKind, side: Side, opt: Opt) -> Kernel:
    """`kernel` with `amount` iterations of an axis made the last axis of `kind`.

    An axis that is taken whole only changes its kind; otherwise the pieces are NAME.o and NAME.i.
    """
    axis = kernel.find(name)
    assert axis is not None, "the opt is legal"
    assert isinstance(axis.size, int), "the opt is legal"
    origin, step = axis.origin, axis.step
    if axis.size == amount:
        rest: tuple[Axis, ...] = ()
        piece = Axis(name, amount, kind, origin, step)
    else:
        outer_size = amount if side is Side.OUTER else axis.size // amount
        inner_size = axis.size // outer_size
        outer_name, inner_name = piece_name(kernel, name, ".o"), piece_name(kernel, name, ".i")
        outer_kind, inner_kind = (axis.kind, kind) if side is Side.INNER else (kind, axis.kind)
        outer = Axis(outer_name, outer_size, outer_kind, origin, step * inner_size)
        inner = Axis(inner_name, inner_size, inner_kind, origin, step)
        piece, rest = (inner, (outer,)) if side is Side.INNER else (outer, (inner,))
    at = kernel.axes.index(axis)
    axes = (*kernel.axes[:at], *rest, *kernel.axes[at + 1 :], piece)
    last = () if kernel.tile is None else kernel.tile.items
    return kernel.after(opt, in_nesting_order(axes, last))


def piece_name(kernel: Kernel, name: str, suffix: str, made: Sequence[Axis] = ()) -> str:
    """NAME.o or NAME.i, unless there is an axis of that name, also among those just `made`."""
    taken = {axis.name for axis in (*kernel.axes, *made)} | {pad.name for pad in kernel.pads}
    taken |= {known for known, _ in kernel.domain}
    piece = name + suffix
    while piece in taken:
        piece += suffix
    return piece
