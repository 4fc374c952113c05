"""How much work a kernel is, read off its AST: schedules and passes do not change it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from compiler.backends import Estimates
from compiler.ir import (
    BOOL,
    ELEMENTWISE,
    Node,
    Op,
    Size,
    View,
    ViewStack,
    bounds,
    free_axes,
    toposort,
)

_REDUCE, _MULACC, _STORE, _GATHER, _LOAD = Op.REDUCE, Op.MULACC, Op.STORE, Op.GATHER, Op.LOAD

_MOVES = frozenset((Op.CAST, Op.BITCAST, Op.WHERE))
_COUNTED = ELEMENTWISE - _MOVES
_Steps = tuple[tuple[int, int], ...]  # distance and number, the smallest distance first

_MOST_SPANNED = 1 << 20  # elements marked one by one: 0.1 ms


@dataclass(frozen=True, slots=True)
class _Extent:
    """First and last element that an access reaches, how many it visits, and how if it is known."""

    first: int
    last: int
    count: int
    steps: _Steps | None = None


class _Positions(dict[frozenset[str], int]):
    """How many positions there are along some axes; computed when asked."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self._sizes = sizes

    def __missing__(self, axes: frozenset[str]) -> int:
        self[axes] = count = prod([size for name, size in self._sizes.items() if name in axes])
        return count


def estimates(ast: Node) -> Estimates:
    """Operations of one launch, and bytes of every element moved once, at the largest sizes."""
    order, free = toposort(ast), free_axes(ast)
    positions = _Positions({name: _greatest(size) for name, size in ast.attr[0]})
    return Estimates(_operations(ast, order, free, positions), _bytes(order, free, positions))


def _greatest(size: Size) -> int:
    return size if isinstance(size, int) else bounds(size)[1]


def _operations(
    ast: Node,
    order: Sequence[Node],
    free: Mapping[Node, frozenset[str]],
    positions: _Positions,
) -> int:
    computed = {ast}  # not the arithmetic of symbolic sizes
    for node in reversed(order):
        if node in computed:
            computed.update(node.src)
    total = 0
    for node in order:
        axes = free[node]
        if node.op is _REDUCE:
            axes = free[node.src[0]].union(node.attr[1])
        elif node.op not in _COUNTED or node.dtype is BOOL or node not in computed:
            continue
        operations = 2 if node.op is _MULACC else 1
        total += operations * positions[axes]
    return total


def _bytes(
    order: Sequence[Node], free: Mapping[Node, frozenset[str]], positions: _Positions
) -> int:
    accesses: dict[tuple[Op, Node], dict[object, _Extent]] = {}
    for node in order:
        if node.op is _LOAD or node.op is _STORE:
            visited, extent = _visit(node.attr[0])
            accesses.setdefault((node.op, node.src[0]), {})[visited] = extent
        elif node.op is _GATHER:
            anywhere = _Extent(0, _greatest(node.src[0].attr[1]) - 1, positions[free[node]])
            accesses.setdefault((_LOAD, node.src[0]), {})[node] = anywhere
    total = 0
    for (_, buffer), extents in accesses.items():
        elements = min(_greatest(buffer.attr[1]), _distinct(list(extents.values())))
        total += elements * buffer.dtype.itemsize
    return total


def _distinct(extents: Sequence[_Extent]) -> int:
    """How many elements several accesses visit: no overlap is counted twice."""
    total, end = 0, -1
    together: list[_Extent] = []  # each reaches into those before
    for extent in sorted([each for each in extents if each.count], key=_first):
        if extent.first > end:
            total += _union(together)
            together = []
        together.append(extent)
        end = max(end, extent.last)
    return total + _union(together)


def _first(extent: _Extent) -> int:
    return extent.first


def _union(extents: Sequence[_Extent]) -> int:
    """Exact for affine accesses that are not far apart; else at most this many."""
    visited = sum([extent.count for extent in extents])
    if not extents or (len(extents) == 1 and _is_one_to_one(extents[0])):
        return visited
    start = extents[0].first
    span = max([extent.last for extent in extents]) - start + 1
    marks = 0
    for extent in extents:
        if extent.steps is None or span > _MOST_SPANNED:
            return min(span, visited)
        marks |= _marks(extent.steps) << (extent.first - start)
    return marks.bit_count()


def _is_one_to_one(extent: _Extent) -> bool:
    """Whether each step leads beyond all that the smaller ones reach."""
    reach = 0
    for distance, number in extent.steps or ():
        if distance <= reach:
            return False
        reach += distance * (number - 1)
    return extent.steps is not None


def _marks(steps: _Steps) -> int:
    """A bit for each element visited. Made by doubling, so its own length is most of the cost."""
    marks = 1
    for distance, number in steps:
        done = 1
        while done < number:
            more = min(done, number - done)
            marks |= marks << distance * more  # some twice, where `more` is less than `done`
            done += more
    return marks


def _visit(stack: ViewStack) -> tuple[object, _Extent]:
    """What an access visits: equal for the same elements, be it in another order or backwards."""
    view = stack.views[-1]
    moves = _moves(view)
    count = prod([max(0, high - low) for low, high, _ in moves])
    if len(stack.views) > 1:  # where the outer view's positions lie is known only roughly
        inner = stack.views[0]
        inside = _moves(inner)
        most = prod([max(0, high - low) for low, high, _ in inside])
        return stack, _Extent(*_reach(inner, inside), min(count, most))
    first, last = _reach(view, moves)
    steps: list[tuple[int, int]] = []
    for low, high, stride in moves:
        if not isinstance(stride, int):
            return stack, _Extent(first, last, count)
        if high - low > 1:
            steps.append((abs(stride), high - low))
    known = tuple(sorted(steps))
    return (first, known), _Extent(first, last, count, known)


def _moves(view: View) -> list[tuple[int, int, Size]]:
    """The valid positions of each axis along which it moves, at their largest, and its stride."""
    mask = [(0, size) for size in view.shape] if view.mask is None else view.mask
    return [
        (low if isinstance(low, int) else bounds(low)[0], _greatest(high), stride)
        for (low, high), stride in zip(mask, view.strides, strict=True)
        if stride != 0
    ]


def _reach(view: View, moves: Sequence[tuple[int, int, Size]]) -> tuple[int, int]:
    """The least and greatest offset of a valid position."""
    low = view.offset if isinstance(view.offset, int) else bounds(view.offset)[0]
    high = _greatest(view.offset)
    for start, stop, stride in moves:
        steps = (stride, stride) if isinstance(stride, int) else bounds(stride)
        ends = [step * index for step in steps for index in (start, stop - 1)]
        low, high = low + min(ends), high + max(ends)
    return low, high
