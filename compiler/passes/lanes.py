"""Which loops become lanes, and which one of them becomes vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.errors import IRError
from compiler.ir import AxisKind, Node, Op
from compiler.rules import linear

_RANGE, _FOLD, _READ, _WRITE = Op.RANGE, Op.FOLD, Op.READ, Op.WRITE
_COLLECTORS = frozenset((Op.SINK, Op.BARRIER))  # hold all lanes of their sources


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lane axes of a graph: `depends` says for each node on which of them its value depends."""

    axes: tuple[Node, ...]
    sizes: tuple[int, ...]
    depends: Mapping[Node, int]  # bit sets over `axes`

    def number(self, axis: Node) -> int:
        return self.axes.index(axis)


def find_lanes(order: Sequence[Node]) -> Lanes:
    """The UPCAST and UNROLL ranges of a graph, by first appearance."""
    kinds = (AxisKind.UPCAST, AxisKind.UNROLL)
    axes = tuple([node for node in order if node.op is _RANGE and node.attr[1] in kinds])
    for axis in axes:
        if not axis.src[0].is_const:
            raise IRError(f"{axis!r}: the size of a lane axis is not a number")
    sizes = tuple([int(axis.src[0].value) for axis in axes])
    return Lanes(axes, sizes, _dependences(order, axes))


def _dependences(order: Sequence[Node], axes: Sequence[Node]) -> dict[Node, int]:
    bits = {axis: 1 << number for number, axis in enumerate(axes)}
    depends: dict[Node, int] = {}
    for node in order:
        found = bits.get(node, 0)
        if node.op not in _COLLECTORS:
            for child in node.src:
                found |= depends[child]
        if node.op is _FOLD:
            for child in node.src[node.attr[1] :]:
                found &= ~bits.get(child, 0)
        depends[node] = found
    return depends


def stride(offset: Node, axis: int, lanes: Lanes) -> int | None:
    """By how much `offset` grows from one lane of `axis` to the next; None where that varies."""
    bit, step = 1 << axis, 0
    for term, factor in linear(offset)[0].items():
        if term is lanes.axes[axis]:
            step = factor
        elif lanes.depends[term] & bit:
            return None
    return step


def choose_vector_axis(order: Sequence[Node], lanes: Lanes) -> int | None:
    """The lane axis along which most accesses are contiguous; None where no access is.

    A function of the graph alone, so that every target adds up in the same order.
    """
    scores = [_score(order, axis, lanes) for axis in range(len(lanes.axes))]
    worthy = [axis for axis, (contiguous, _) in enumerate(scores) if contiguous]
    if not worthy:
        return None

    def rank(axis: int) -> tuple[int, bool, int, int]:
        contiguous, scattered = scores[axis]
        is_output = lanes.axes[axis].attr[1] is AxisKind.UPCAST
        return (contiguous - scattered, is_output, lanes.sizes[axis], axis)

    return max(worthy, key=rank)


def _score(order: Sequence[Node], axis: int, lanes: Lanes) -> tuple[int, int]:
    """How many accesses are contiguous along the axis, and how many jump."""
    contiguous = scattered = 0
    for node in order:
        if (node.op is not _READ and node.op is not _WRITE) or node.src[0].op is not Op.BUFFER:
            continue
        if is_contiguous(node, axis, lanes):
            contiguous += 1
        elif stride(node.src[1], axis, lanes) not in (0, 1):
            scattered += 1
    return contiguous, scattered


def is_contiguous(access: Node, axis: int, lanes: Lanes) -> bool:
    """Whether neighbouring lanes access neighbouring elements under one gate."""
    gate = access.src[2 if access.op is _READ else 3 :]
    if gate and lanes.depends[gate[0]] >> axis & 1:
        return False
    return stride(access.src[1], axis, lanes) == 1
