"""Lowered stages as nested blocks of steps: graphs with FOLD or LOOP, and PROGRAMs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from compiler.ir import ARRAYS, AxisKind, Node, Op, closed_by, loop_parts, toposort

_GROUP_KINDS = frozenset((AxisKind.LOCAL, AxisKind.GROUP))
_KINDS = tuple(AxisKind)


@dataclass(frozen=True, slots=True)
class Loop:
    """Runs `body` for each value of `ranges`, the last one fastest; a graph's END does no more.

    A graph's LOOP starts its accumulators with `inits` and gives them `values` after every
    iteration. A FOLD is its own accumulator and combines `values` into it one by one. A PROGRAM's
    loop has neither.
    """

    node: Node
    ranges: tuple[Node, ...]
    body: "Block"
    inits: tuple[Node, ...] = ()
    accs: tuple[Node, ...] = ()
    values: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """Runs `body` where the condition of an IF holds."""

    node: Node
    body: "Block"


Step: TypeAlias = Node | Loop | Branch
Block: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A stage as blocks; `lanes` are the RANGEs and SPECIALs that are array dimensions.

    `items` are those that number the work items of a group, the last one fastest.
    """

    lanes: tuple[Node, ...]
    body: Block
    items: tuple[Node, ...] = ()


def schedule(root: Node) -> Schedule:
    """The steps of a lowered stage."""
    plan = _linear(root) if root.op is Op.PROGRAM else _graph(root)
    places = {name: at for at, (name, _) in enumerate(root.attr[0])} if root.op is Op.SINK else {}
    items = [lane for lane in plan.lanes if is_item(lane)]
    return replace(plan, items=tuple(sorted(items, key=lambda lane: _depth(lane, places))))


def is_item(lane: Node) -> bool:
    """Whether this index tells work items of one group apart."""
    if lane.op is Op.SPECIAL:
        return bool(lane.attr[0].startswith("local"))
    return lane.attr[1] in _GROUP_KINDS


def _depth(lane: Node, places: Mapping[str, int]) -> tuple[int, int]:
    """The order in which indices are nested; hardware numbers them from the inside."""
    if lane.op is Op.SPECIAL:
        return 0, -int(lane.attr[0][-1])
    return _KINDS.index(lane.attr[1]), places.get(lane.attr[0], len(places))


# --- graphs ---


def _bound(node: Node) -> tuple[Node, ...]:
    """What a FOLD or LOOP binds: its ranges and accumulators. An END binds its range."""
    if node.op is Op.END:
        return node.src[:1]
    if node.op is Op.FRAGMENT:
        return node.src[1:]
    if node.op is Op.FOLD:
        return node.src[node.attr[1] :]
    ranges, _, accs, _ = loop_parts(node)
    return (*ranges, *accs)


def _inner(node: Node) -> tuple[Node, ...]:
    """What a FOLD, LOOP or END evaluates in every iteration."""
    if node.op is Op.END:
        return node.src[1:]
    if node.op is Op.FRAGMENT:
        return node.src[:1]
    return node.src[: node.attr[1]] if node.op is Op.FOLD else loop_parts(node)[3]


_LOOPS = frozenset((Op.FOLD, Op.FRAGMENT, Op.LOOP, Op.END))


def _graph(root: Node) -> Schedule:
    order = toposort(root)
    owned = {node for loop in order if loop.op in _LOOPS for node in _bound(loop)}
    free = _free_variables(order, owned)
    bodies: dict[Node, Loop] = {}
    needs: dict[Node, tuple[Node, ...]] = {}  # of a loop: what must be ready before it starts
    for node in order:
        if node.op in _LOOPS:
            bound = frozenset(_bound(node))
            body, frontier = _collect(_inner(node), bound, free, needs)
            inits = loop_parts(node)[1] if node.op is Op.LOOP else ()
            needs[node] = (*inits, *frontier)
            bodies[node] = _make_loop(node, _nested(body, bodies))
    lanes = tuple([n for n in order if n.op is Op.SPECIAL or (n.op is Op.RANGE and n not in owned)])
    return Schedule(lanes, _nested(_top_level(root, needs), bodies))


def _make_loop(node: Node, body: Block) -> Loop:
    if node.op is Op.END:
        return Loop(node, node.src[:1], body)
    if node.op is Op.FRAGMENT:
        return Loop(node, node.src[1:], body, (), (), node.src[:1])
    if node.op is Op.FOLD:
        terms = node.attr[1]
        return Loop(node, node.src[terms:], body, (), (node,), node.src[:terms])
    ranges, inits, accs, values = loop_parts(node)
    return Loop(node, ranges, body, inits, accs, values)


def _free_variables(order: list[Node], owned: set[Node]) -> dict[Node, frozenset[Node]]:
    """For each node, the loop ranges and accumulators its value depends on."""
    nothing: frozenset[Node] = frozenset()
    free: dict[Node, frozenset[Node]] = {}
    for node in order:
        below = nothing.union(*[free[child] for child in node.src]) if node.src else nothing
        if node in owned:
            below |= {node}
        elif node.op is Op.FOLD or node.op is Op.FRAGMENT or node.op is Op.END:
            below -= frozenset(_bound(node))
        elif node.op is Op.LOOP:
            inner = nothing.union(*[free[child] for child in _inner(node)])
            outer = nothing.union(*[free[child] for child in loop_parts(node)[1]])
            sizes = nothing.union(*[free[child] for r in loop_parts(node)[0] for child in r.src])
            below = (inner - frozenset(_bound(node))) | outer | sizes
        free[node] = below
    return free


def _collect(
    roots: Iterable[Node],
    bound: frozenset[Node],
    free: dict[Node, frozenset[Node]],
    needs: dict[Node, tuple[Node, ...]],
) -> tuple[list[Node], list[Node]]:
    """Nodes under `roots` that change with `bound`, operands first, and what else they need."""
    body: list[Node] = []
    frontier: list[Node] = []
    for node in _postorder(roots, needs, lambda node: bool(free[node] & bound)):
        if node in bound:
            continue
        (body if free[node] & bound else frontier).append(node)
    return body, frontier


def _postorder(
    roots: Iterable[Node],
    needs: dict[Node, tuple[Node, ...]],
    descends: Callable[[Node], bool],
) -> list[Node]:
    order: list[Node] = []
    done: set[Node] = set()
    for root in roots:
        if root in done:
            continue
        done.add(root)
        stack: list[tuple[Node, Iterator[Node]]] = [(root, iter(_below(root, needs, descends)))]
        while stack:
            node, rest = stack[-1]
            for child in rest:
                if child not in done:
                    done.add(child)
                    stack.append((child, iter(_below(child, needs, descends))))
                    break
            else:
                order.append(node)
                stack.pop()
    return order


def _below(
    node: Node, needs: dict[Node, tuple[Node, ...]], descends: Callable[[Node], bool]
) -> tuple[Node, ...]:
    if not descends(node):
        return ()
    return needs.get(node, node.src)


def _top_level(root: Node, needs: dict[Node, tuple[Node, ...]]) -> list[Node]:
    """Every step outside loops; the writes to buffers come after all else is computed."""
    last = [node for node in root.src if node.op is Op.WRITE and node.src[0].op in ARRAYS]
    first = [operand for node in root.src for operand in (node.src if node in last else (node,))]
    return _postorder([*first, *last], needs, lambda node: True)


def _nested(nodes: list[Node], bodies: dict[Node, Loop]) -> Block:
    return tuple([bodies.get(node, node) for node in nodes])


# --- programs ---

_PARALLEL = frozenset((AxisKind.GLOBAL, AxisKind.LOCAL))
_CLOSING = frozenset((Op.END, Op.ENDIF, Op.LOOP))


def _linear(program: Node) -> Schedule:
    carried = _ranges_that_carry(program)
    lanes: list[Node] = []
    blocks: list[list[Step]] = [[]]
    opened: list[Node] = []
    for node in program.src:
        if node.op is Op.SPECIAL or _is_parallel(node, carried):
            lanes.append(node)
        elif node.op is Op.RANGE or node.op is Op.IF:
            opened.append(node)
            blocks.append([])
            continue
        elif node.op in _CLOSING and node.src[0] not in lanes:
            for _ in closed_by(node):
                body, start = tuple(blocks.pop()), opened.pop()
                is_if = start.op is Op.IF
                blocks[-1].append(Branch(start, body) if is_if else Loop(start, (start,), body))
        blocks[-1].append(node)
    return Schedule(tuple(lanes), tuple(blocks[0]))


def _is_parallel(node: Node, carried: frozenset[Node]) -> bool:
    return node.op is Op.RANGE and node.attr[1] in _PARALLEL and node not in carried


def _ranges_that_carry(program: Node) -> frozenset[Node]:
    """Ranges in which an accumulator is set that was started outside them."""
    opened: list[Node] = []
    started: dict[Node, int] = {}
    found: set[Node] = set()
    for node in program.src:
        match node.op:
            case Op.RANGE:
                opened.append(node)
            case Op.END | Op.LOOP:
                for axis in closed_by(node):
                    opened.remove(axis)
            case Op.INIT:
                started[node.src[0]] = len(opened)
            case Op.SET:
                found.update(opened[started.get(node.src[0], 0) :])
            case _:
                pass
    return frozenset(found)
