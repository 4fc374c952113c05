"""Which loops become lanes, and which one of them becomes vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from compiler.errors import IRError
from compiler.ir import ARRAYS, AxisKind, Node, Op, Order, const, toposort
from compiler.rules import Builder, linear

_RANGE, _FOLD, _READ, _WRITE = Op.RANGE, Op.FOLD, Op.READ, Op.WRITE
_FRAGMENT, _WMMA, _IMAGE = Op.FRAGMENT, Op.WMMA, Op.IMAGE
_KINDS = (AxisKind.UPCAST, AxisKind.UNROLL)
_ACCESSES = frozenset((_READ, _WRITE))
COLLECTORS = frozenset((Op.SINK, Op.BARRIER, Op.END, Op.AFTER))  # hold all lanes of their sources


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lane axes of a graph: `depends` says for each node on which of them its value depends."""

    axes: tuple[Node, ...]
    sizes: tuple[int, ...]
    depends: Mapping[Node, int]  # bit sets over `axes`
    strides: dict[Node, tuple[int | None, ...]] = field(default_factory=dict)  # memo of `stride`

    def number(self, axis: Node) -> int:
        return self.axes.index(axis)


def find_lanes(order: Order) -> Lanes:
    """The UPCAST and UNROLL ranges of a graph, by first appearance."""
    axes = tuple([node for node in order.of(_RANGE) if node.attr[1] in _KINDS])
    for axis in axes:
        if not axis.src[0].is_const:
            raise IRError(f"{axis!r}: the size of a lane axis is not a number")
    sizes = tuple([int(axis.src[0].value) for axis in axes])
    return Lanes(axes, sizes, _dependences(order, axes))


def _dependences(order: Sequence[Node], axes: Sequence[Node]) -> dict[Node, int]:
    bits = {axis: 1 << number for number, axis in enumerate(axes)}
    depends: dict[Node, int] = {}
    for node in order:
        op, found = node.op, 0
        if op is _RANGE:
            found = bits.get(node, 0)
        elif op not in COLLECTORS:
            for child in node.src:
                found |= depends[child]
            if found and (op is _FOLD or op is _FRAGMENT):
                for child in node.src[1 if op is _FRAGMENT else node.attr[1] :]:
                    found &= ~bits.get(child, 0)
        depends[node] = found
    return depends


def stride(offset: Node, axis: int, lanes: Lanes) -> int | None:
    """By how much `offset` grows from one lane of `axis` to the next; None where that varies."""
    found = lanes.strides.get(offset)
    if found is None:
        found = lanes.strides[offset] = _strides(offset, lanes)
    return found[axis]


def _strides(offset: Node, lanes: Lanes) -> tuple[int | None, ...]:
    """The stride along each lane axis."""
    steps, unknown = [0] * len(lanes.axes), 0
    for term, factor in linear(offset)[0].items():
        if term in lanes.axes:
            steps[lanes.axes.index(term)] = factor
        else:
            unknown |= lanes.depends[term]
    return tuple([None if unknown >> axis & 1 else step for axis, step in enumerate(steps)])


def choose_vector_axis(order: Order, lanes: Lanes, b: Builder) -> int | None:
    """The lane axis along which most accesses are contiguous; None where no access is.

    A function of the graph alone, so that every target adds up in the same order.
    """
    accesses = [node for node in order if node.op in _ACCESSES and node.src[0].op in ARRAYS]
    scores = [_score(accesses, axis, lanes, b) for axis in range(len(lanes.axes))]
    held = barred(order, lanes)
    free = [axis for axis in range(len(lanes.axes)) if not held >> axis & 1]
    worthy = [axis for axis in free if scores[axis][0] or scores[axis][1]]
    if not worthy:
        return None

    balance = {axis: scores[axis][0] + scores[axis][1] - scores[axis][2] for axis in worthy}
    best = [axis for axis in worthy if balance[axis] == max(balance.values())]
    if len(best) == 1:
        return best[0]

    def rank(axis: int) -> tuple[int, bool, int, int]:
        is_output = lanes.axes[axis].attr[1] is AxisKind.UPCAST
        return (_elements(accesses, axis, lanes), is_output, lanes.sizes[axis], axis)

    return max(best, key=rank)


def _elements(accesses: Sequence[Node], axis: int, lanes: Lanes) -> int:
    """How many elements are accessed one after the other along the axis, symbolic sizes aside."""
    total = 0
    for node in accesses:
        if stride(node.src[1], axis, lanes) == 1:
            loops = [n for n in toposort(node.src[1]) if n.op is _RANGE and n.src[0].is_const]
            total += prod([int(loop.src[0].value) for loop in loops])
    return total


def barred(order: Order, lanes: Lanes) -> int:
    """The axes of operands of tensor cores, which are vectors already: a bit set."""
    bits = 0
    for node in order.of(_WMMA):
        bits |= lanes.depends[node]
    for node in order.of(_FRAGMENT):
        for axis in node.src[1:]:
            bits |= 1 << lanes.number(axis)
    return bits


def _score(accesses: Sequence[Node], axis: int, lanes: Lanes, b: Builder) -> tuple[int, int, int]:
    """How many accesses are contiguous along the axis, how many lane by lane, how many jump."""
    contiguous = masked = scattered = 0
    for node in accesses:
        step = stride(node.src[1], axis, lanes)
        if step == 1:
            has_one_gate = _has_one_gate(node, axis, lanes, b)
            contiguous += has_one_gate
            masked += not has_one_gate
        scattered += step not in (0, 1)
    return contiguous, masked, scattered


def _has_one_gate(access: Node, axis: int, lanes: Lanes, b: Builder) -> bool:
    """Whether the gate is the same at the first and the last lane, as far as rules can tell."""
    gate = _gate(access)
    if _is_shared(gate, axis, lanes):
        return True
    index = lanes.axes[axis]
    first, last = (const(index.dtype, lane) for lane in (0, lanes.sizes[axis] - 1))
    return b.rebuild(gate[0], {index: first}) is b.rebuild(gate[0], {index: last})


def _gate(access: Node) -> tuple[Node, ...]:
    return access.src[2 if access.op is _READ else 3 :]


def is_masked(access: Node, axis: int, lanes: Lanes) -> bool:
    """Whether neighbouring lanes access neighbouring elements, each under a gate of its own."""
    return stride(access.src[1], axis, lanes) == 1 and not _is_shared(_gate(access), axis, lanes)


def is_contiguous(access: Node, axis: int, lanes: Lanes) -> bool:
    """Whether neighbouring lanes access neighbouring elements under one gate."""
    return stride(access.src[1], axis, lanes) == 1 and _is_shared(_gate(access), axis, lanes)


def is_strided(access: Node, axis: int, lanes: Lanes) -> bool:
    """Whether the elements that lanes access are all one distance apart, under one gate."""
    if access.src[0].op is _IMAGE or not _is_shared(_gate(access), axis, lanes):
        return False
    return stride(access.src[1], axis, lanes) is not None


def _is_shared(gate: tuple[Node, ...], axis: int, lanes: Lanes) -> bool:
    return not gate or not lanes.depends[gate[0]] >> axis & 1
