"""What an LDS opt keeps in local memory: for each LOAD, the elements that inner loops share.

A panel covers the inner loops of a LOAD and is filled where they begin. On targets with work-groups
those are at least all loops inside of the group; on others any number of inner loops. Of the panels
that fit, the one that copies least is taken, and of those the smallest.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from compiler.ir import AxisKind, Node, Op, toposort
from compiler.kernel.axis import Axis
from compiler.kernel.cores import emulation_bytes
from compiler.kernel.keeping import kept_rows
from compiler.kernel.kernel import Kernel, closers, greatest, moving_axes, reduces, root_origin
from compiler.target import Capabilities

_LOAD, _REDUCE = Op.LOAD, AxisKind.REDUCE
LANES = (AxisKind.UNROLL, AxisKind.UPCAST)
_ITEMS = (AxisKind.LOCAL, AxisKind.GROUP)


@dataclass(frozen=True, slots=True)
class Panel:
    """The part of a buffer that one LOAD reads, over `axes`, the last one contiguous.

    Lanes come last, so that they are vectors whatever the order of the buffer. Without work-groups
    the loops `filled` fill it, in the buffer's order. `rounds` are the reduce loops that fill it
    anew. `copies` counts the REDUCEs that read it apart from each other.
    """

    load: Node
    name: str
    axes: tuple[Axis, ...]
    filled: tuple[Axis, ...]
    rounds: tuple[Axis, ...]
    copies: int
    times: int  # that it is filled

    @property
    def copied(self) -> int:
        return self.times * self.elements * self.copies

    @property
    def elements(self) -> int:
        return prod([greatest(axis.size) for axis in self.axes])

    @property
    def bytes(self) -> int:
        return self.elements * self.load.dtype.itemsize * self.copies

    @property
    def strides(self) -> Mapping[str, int]:
        """By axis: how far apart neighbours are in the panel."""
        step, found = 1, {}
        for axis in reversed(self.axes):
            found[axis.name] = step
            step *= greatest(axis.size)
        return found


def staged_loads(kernel: Kernel) -> tuple[Node, ...]:
    """The LOADs of buffers that are staged."""
    loads = [node for node in toposort(kernel.ast) if node.op is _LOAD]
    return tuple([load for load in loads if load.src[0].attr[0] in kernel.staged])


def panels(kernel: Kernel, capabilities: Capabilities) -> Mapping[Node, Panel] | None:
    """The panel of each staged LOAD; None where they do not fit in local memory."""
    loads = staged_loads(kernel)
    names = _names(loads)
    left = capabilities.shared_bytes - partial_bytes(kernel)
    left -= sum([row.bytes for row in kept_rows(kernel)]) if kernel.kept else 0
    found: dict[Node, Panel] = {}
    for load in loads:
        choices = _choices(kernel, load, names[load], capabilities)
        fitting = [choice for choice in choices if choice.bytes <= left // len(loads)]
        if not fitting:
            return None
        found[load] = min(fitting, key=lambda choice: (choice.copied, choice.elements))
    return found


def copied(kernel: Kernel, capabilities: Capabilities) -> int:
    """How many elements all panels of a legal kernel copy."""
    found = panels(kernel, capabilities)
    assert found is not None, "LDS is legal"
    return sum([panel.copied for panel in found.values()])


def partial_bytes(kernel: Kernel) -> int:
    """Local memory for the partial results of grouped reduces: one per work item and upcast."""
    grouped = {root_origin(kernel, axis.origin) for axis in kernel.of_kind(AxisKind.GROUP)}
    if not grouped:
        return emulation_bytes(kernel)
    kinds = (AxisKind.LOCAL, AxisKind.GROUP, AxisKind.UPCAST)
    partials = prod([greatest(axis.size) for axis in kernel.of_kind(*kinds)])
    return partials * sum(
        [node.dtype.itemsize for node in reduces(kernel) if not grouped.isdisjoint(node.attr[1])]
    )


def _names(loads: tuple[Node, ...]) -> dict[Node, str]:
    """lds2 for the first LOAD of buffer 2, lds2.l1 for the next."""
    found: dict[Node, str] = {}
    for load in loads:
        slot = load.src[0].attr[0]
        number = len([other for other in found if other.src[0].attr[0] == slot])
        found[load] = f"lds{slot}.l{number}" if number else f"lds{slot}"
    return found


def _choices(kernel: Kernel, load: Node, name: str, capabilities: Capabilities) -> list[Panel]:
    """Every panel of a LOAD: loops as they are nested, then lanes, those far apart first."""
    moving = moving_axes(kernel, load)
    axes = [axis for axis in kernel.axes if root_origin(kernel, axis.origin) in moving]
    closed = closers(toposort(kernel.ast))
    copies = prod([len(closed[name]) for name in moving if name in closed])
    outside = [axis for axis in kernel.axes if axis.kind not in LANES]
    names = [axis.name for axis in outside]
    items = _ITEMS if capabilities.has_local else ()
    first = len(kernel.of_kind(AxisKind.GLOBAL, *items)) if items else 0
    nearness = {axis.name: -_apart(kernel, load, axis) for axis in axes}
    lanes = sorted([a for a in axes if a.kind in LANES], key=lambda axis: nearness[axis.name])
    found: list[Panel] = []
    for cut in range(first, len(outside) + 1):
        outer = [a for a in outside[:cut] if a.name in nearness and a.kind not in items]
        chosen = [axis.name for axis in outer]
        loops = [a for a in axes if a.kind not in LANES and a.name not in chosen]
        if any(not isinstance(axis.size, int) for axis in (*loops, *lanes)):
            continue
        around = outside[: 1 + names.index(chosen[-1])] if chosen else []
        rounds = tuple([axis for axis in outer if axis.kind is _REDUCE])
        # a group fills it once, however many items it has
        times = prod([greatest(axis.size) for axis in around if axis.kind not in items])
        filled = tuple(sorted(loops, key=lambda axis: nearness[axis.name]))
        found.append(Panel(load, name, (*loops, *lanes), filled, rounds, copies, times))
    return found


def _apart(kernel: Kernel, load: Node, axis: Axis) -> int:
    """How far an iteration moves in the buffer, as far as the outermost view tells."""
    view = load.attr[0].views[-1]
    place = [name for name, _ in kernel.domain].index(root_origin(kernel, axis.origin))
    return greatest(view.strides[place]) * axis.step
