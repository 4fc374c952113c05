"""The graph as one PROGRAM: each node in the innermost loop it needs, in order of first need."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from compiler.ir import ARRAYS, VOID, AxisKind, Node, Op, Order, intern, loop_parts, replace_src
from compiler.passes.context import Context
from compiler.passes.ranges import of_kind

_PROGRAM, _READ, _BUFFER, _INIT, _SET = Op.PROGRAM, Op.READ, Op.BUFFER, Op.INIT, Op.SET
_END, _IF, _ENDIF = Op.END, Op.IF, Op.ENDIF

_RANGE, _LOOP, _ACC, _WRITE = Op.RANGE, Op.LOOP, Op.ACC, Op.WRITE
_MULACC, _BARRIER, _WMMA = Op.MULACC, Op.BARRIER, Op.WMMA
_STRUCTURE = frozenset((_WRITE, _LOOP, _RANGE, _END, _BARRIER))
_REORDERED = frozenset((_MULACC, _LOOP, _WMMA))
# where such a step has the total so far
_CHAINED = {Op.ADD: 0, Op.MUL: 0, Op.MULACC: 2, Op.WMMA: 2}
_LEAVES = ARRAYS | {Op.CONST, Op.VAR, Op.LOCAL}
_NOT_PLACED = frozenset((_RANGE, _ACC, Op.SINK)) | _LEAVES
_Scope = Node | None  # the RANGE of a loop, or None: outside all loops


def linearize(root: Node, context: Context) -> Node:
    """A PROGRAM that computes `root`."""
    order = _in_order_of_need(root)
    outer = of_kind(root, order, AxisKind.GLOBAL)
    free = order.free()
    nest = _nest(order, free, outer)
    items = _place(order, free, nest, outer)
    emission = _Emission(items, _read_and_written(order))
    emission.scope(None)
    return intern(_PROGRAM, VOID, tuple(emission.program))


# --- the order of first need ----------------------------------------------------------------------


def _in_order_of_need(root: Node) -> Order:
    """Every node that `root` is computed from, operands first."""
    done: dict[Node, None] = {}  # in order
    above: list[tuple[Node, Iterator[Node]]] = []  # from the root down to `node`: what is left
    node, rest = root, iter(root.src)
    while True:
        for child in rest:
            if child in done:
                continue
            if child.src:
                above.append((node, rest))
                node = child
                rest = iter(_needs(child) if child.op in _REORDERED else child.src)
                break
            done[child] = None
        else:
            done[node] = None
            if not above:
                return Order(done)
            node, rest = above.pop()


def _needs(node: Node) -> Sequence[Node]:
    """The sources of a MULACC or LOOP, those first that are to be computed first.

    A total comes before what is added to it, and the totals of a loop advance side by side: what
    one step of all of them shares is needed once, and not kept until the last total is done.
    """
    if node.op is _MULACC or node.op is _WMMA:
        return node.src[2], node.src[0], node.src[1]
    ranges, inits, accs, values = loop_parts(node)
    chains = [_steps(value) for value in values]
    longest = max([len(chain) for chain in chains])
    side_by_side = [chain[step] for step in range(longest) for chain in chains if step < len(chain)]
    return (*ranges, *inits, *accs, *side_by_side)


def _steps(value: Node) -> list[Node]:
    """The nodes through which an accumulator becomes its next value, first step first."""
    found = [value]
    while value.op in _CHAINED:
        value = value.src[_CHAINED[value.op]]
        if value.op is not _ACC:
            found.append(value)
    found.reverse()
    return found


def _read_and_written(order: Order) -> frozenset[Node]:
    read = {node.src[0] for node in order.of(_READ)}
    written = {node.src[0] for node in order.of(_WRITE)}
    return frozenset([node for node in read & written if node.op is _BUFFER])


# --- where each node goes -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Nest:
    """The loops and how deep each is; `memo` maps a set of nested loops to the innermost."""

    bits: Mapping[Node, int]
    depths: dict[Node, int] = field(default_factory=dict)
    memo: dict[int, _Scope] = field(default_factory=dict)

    def innermost(self, loops: int) -> _Scope:
        if loops not in self.memo:
            inside = [axis for axis in self.depths if loops & self.bits[axis]]
            self.memo[loops] = max(inside, key=lambda axis: self.depths[axis], default=None)
        return self.memo[loops]

    def open(self, ranges: Sequence[Node], around: int) -> None:
        """Nest `ranges` inside the innermost loop of the set `around`."""
        scope = self.innermost(around)
        depth = 0 if scope is None else self.depths[scope]
        for axis in ranges:
            depth += 1
            self.depths[axis] = depth


def _nest(order: Order, free: Mapping[Node, int], outer: Sequence[Node]) -> _Nest:
    nest = _Nest({axis: 1 << number for axis, number in order.ranges().items()})
    nest.open(outer, 0)
    has_ends = bool(order.of(_END))
    for node in reversed(order if has_ends else order.of(_LOOP)):  # before the loops inside of it
        if node.op is _LOOP:
            nest.open(loop_parts(node)[0], free[node])
        elif node.op is _END:
            nest.open(node.src[:1], free[node])
    return nest


def _place(
    order: Sequence[Node], free: Mapping[Node, int], nest: _Nest, outer: Sequence[Node]
) -> dict[_Scope, list[Node]]:
    """What each scope holds, in order. A LOOP stands for the whole loop, so does an outer RANGE."""
    items: dict[_Scope, list[Node]] = {None: []}
    items.update({axis: [] for axis in nest.depths})
    inside: dict[int, list[Node]] = {}  # by the set of loops, of which there are few
    leaves: list[Node] = []  # before all else
    for node in order:
        if node.op not in _NOT_PLACED:
            loops = free[node]
            found = inside.get(loops)
            if found is None:
                found = inside[loops] = items[nest.innermost(loops)]
            found.append(node)
        elif node.op in _LEAVES:
            leaves.append(node)
    for around, axis in zip((None, *outer), outer, strict=False):
        items[around].append(axis)
    items[None][:0] = leaves
    return items


# --- the program ----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Emission:
    """The program while it is written. The fields below `carried` belong to it alone."""

    items: Mapping[_Scope, Sequence[Node]]
    carried: frozenset[Node]  # buffers that are read and written; only asked
    program: list[Node] = field(default_factory=list)
    done: dict[Node, Node] = field(default_factory=dict)  # what has become another node
    pending: list[Node] = field(default_factory=list)  # WRITEs to be emitted together
    emitted: set[Node] = field(default_factory=set)  # WRITEs and IFs; only asked

    def emit(self, node: Node, instruction: Node) -> None:
        self.program.append(instruction)
        if instruction is not node:
            self.done[node] = instruction

    def source(self, node: Node) -> Node:
        return self.done.get(node, node)

    def over(self, node: Node) -> Node:
        """`node` over what its sources have become."""
        done = self.done
        return replace_src(node, tuple([done.get(child, child) for child in node.src]))

    def scope(self, scope: _Scope) -> None:
        done, append = self.done, self.program.append
        untouched, now = done.keys().isdisjoint, done.get
        for node in self.items[scope]:
            if node.op in _STRUCTURE:
                self.structure(node)
            elif not done or untouched(node.src):
                append(node)
            else:
                src = tuple(map(now, node.src, node.src))
                done[node] = made = intern(node.op, node.dtype, src, node.attr)
                append(made)
        self.flush()

    def structure(self, node: Node) -> None:
        """What is more than an instruction, or has to wait for its turn."""
        op = node.op
        if op is _WRITE:
            self.write(node)
        elif op is _LOOP:
            self.flush()
            self.loop(node)
        elif op is _RANGE:
            self.flush()
            self.outer_loop(node)
        elif op is _END:
            self.flush()
            self.outer_loop(node.src[0])
            self.done[node] = self.program[-1]
        else:
            self.flush()
            self.emit(node, self.over(node))

    def outer_loop(self, axis: Node) -> None:
        self.emit(axis, self.over(axis))
        self.scope(axis)
        self.program.append(intern(_END, VOID, (self.source(axis),)))

    def loop(self, node: Node) -> None:
        """INITs, the ranges opened one inside the other, SETs in the innermost, then the LOOP.

        It stays as it is, and so does all that is made of its results.
        """
        ranges, inits, accs, values = loop_parts(node)
        for acc, init in zip(accs, inits, strict=True):
            self.program.append(intern(_INIT, VOID, (acc, self.source(init))))
        for axis in ranges:
            self.emit(axis, self.over(axis))
            self.scope(axis)
        pairs = zip(accs, values, strict=True)
        steps = [intern(_SET, VOID, (acc, self.source(value))) for acc, value in pairs]
        self.program.extend(steps)
        self.emit(node, self.over(node))

    # writes

    def write(self, node: Node) -> None:
        """A WRITE, or a place among those that wait to share one branch."""
        gates = node.src[3:]
        if gates and gates[0].dtype.count > 1:  # no branch: each lane has its gate
            self.flush()
            self.emit(node, self.over(node))
            return
        waits = bool(gates) or node.src[0] in self.carried
        if self.pending and node.src[0] not in self.carried and self.pending[0].src[3:] != gates:
            self.flush()
        if waits:
            self.pending.append(node)
        else:
            self.store(node)

    def store(self, node: Node) -> None:
        """A WRITE that runs whenever the code around it does."""
        plain = self.over(node)
        self.emitted.add(plain)
        self.emit(node, plain)

    def flush(self) -> None:
        """Emit the waiting WRITEs; neighbours with the same gate share one branch."""
        pending, self.pending = self.pending, []
        while pending:
            gate = pending[0].src[3:]
            count = 1
            while count < len(pending) and pending[count].src[3:] == gate:
                count += 1
            if gate:
                self.branch(pending[:count], self.source(gate[0]))
            else:
                for node in pending[:count]:
                    self.store(node)
            pending = pending[count:]

    def branch(self, writes: Sequence[Node], gate: Node) -> None:
        opening = intern(_IF, VOID, (gate,))
        if opening in self.emitted:  # a second branch on the same gate: tell them apart
            opening = intern(_IF, VOID, (gate, *self.over(writes[0]).src[1:3]))
        self.program.append(opening)
        self.emitted.add(opening)
        for node in writes:
            gated = self.over(node)
            plain = intern(_WRITE, VOID, gated.src[:3])
            if plain in self.emitted:  # the same store under another gate: it stays another node
                plain = gated
            self.emitted.add(plain)
            self.program.append(plain)
        closing = intern(_ENDIF, VOID, (opening,))
        self.program.append(closing)
        self.done.update(dict.fromkeys(writes, closing))
