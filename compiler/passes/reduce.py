"""FOLDs become loops with accumulators. Independent FOLDs over the same ranges share one loop."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import filterfalse, repeat

from compiler.ir import FLOAT32, FLOAT64, VOID, Node, Op, intern
from compiler.passes.context import Context
from compiler.rules import Builder, combine, identity

_LOOP, _RESULT, _RANGE, _ACC = Op.LOOP, Op.RESULT, Op.RANGE, Op.ACC
_FOLD, _END, _ADD, _MUL, _MULACC = Op.FOLD, Op.END, Op.ADD, Op.MUL, Op.MULACC
_WMMA = Op.WMMA
_LOOPS = frozenset((_FOLD, _END))
_FUSED = (FLOAT32, FLOAT64)  # of 16-bit floats the product is rounded before it is added
_NO_LEVELS = repeat(0)
_Copies = tuple[tuple[Node, Node], ...]  # (a RANGE, what stands for it in this copy of a loop)


def reduce(root: Node, context: Context) -> Node:
    """Every FOLD as the RESULT of a LOOP, or as a chain where it has no ranges."""
    order = context.order(root)
    folds = order.of(_FOLD)
    if not folds:
        return root
    numbers, free = order.ranges(), order.free()
    fused = context.target.capabilities.fma and context.options.math.fma
    names = frozenset([axis.attr[0] for axis in numbers])
    level = _levels(order)
    groups = _groups(folds, level, free)
    reduction = _Reduction(context.builder, fused, numbers, free, groups, names)
    same = list(filterfalse(level.__contains__, order))
    reduction.done[()] = dict(zip(same, same, strict=True))
    return reduction.lower(root, ())


def _levels(order: Sequence[Node]) -> dict[Node, int]:
    """How many FOLDs are nested in each node that has a loop in it; the others stay as they are."""
    level: dict[Node, int] = {}
    has_none = level.keys().isdisjoint
    for node in order:
        if node.op not in _LOOPS and has_none(node.src):
            continue
        highest = max(map(level.get, node.src, _NO_LEVELS))
        level[node] = highest + 1 if node.op is _FOLD else highest
    return level


def _groups(
    folds: Sequence[Node], level: Mapping[Node, int], free: Mapping[Node, int]
) -> dict[Node, tuple[Node, ...]]:
    """The FOLDs that share a loop: same ranges, inside the same loops, none below another."""
    groups: dict[tuple[tuple[Node, ...], int, int], list[Node]] = {}
    for node in folds:
        key = (node.src[node.attr[1] :], level[node], free[node])
        groups.setdefault(key, []).append(node)
    return {node: tuple(group) for group in groups.values() for node in group}


@dataclass(slots=True)
class _Reduction:
    """Lowers one graph. The fields below `names` belong to it alone and grow as it goes."""

    builder: Builder
    fused: bool
    numbers: Mapping[Node, int]
    free: Mapping[Node, int]
    groups: Mapping[Node, tuple[Node, ...]]
    names: frozenset[str]  # of all ranges of the graph; only asked
    done: dict[_Copies, dict[Node, Node]] = field(default_factory=dict)
    owned: set[str] = field(default_factory=set)  # names of ranges that a loop owns; only asked
    accumulators: int = 0

    def lower(self, root: Node, copies: _Copies) -> Node:
        """`root` without FOLDs, its free ranges replaced by `copies`."""
        done, build = self.memo(copies), self.builder.build
        if root in done or self.is_lowered(root, copies):
            return done[root]
        above: list[tuple[Node, Iterator[Node]]] = []  # iterative: chains may be deep
        node, rest = root, iter(root.src)
        while True:
            for child in rest:
                if child in done:
                    continue
                if (copies or child.op in _LOOPS) and self.is_lowered(child, copies):
                    continue
                above.append((node, rest))
                node, rest = child, iter(child.src)
                break
            else:
                src = tuple(map(done.__getitem__, node.src))
                same = src == node.src
                done[node] = node if same else build(node.op, node.dtype, src, node.attr)
                if not above:
                    return done[root]
                node, rest = above.pop()

    def is_lowered(self, node: Node, copies: _Copies) -> bool:
        """Lower a loop, or what depends on fewer copies; anything else goes by its sources."""
        inner = self.restrict(copies, node) if copies else copies
        if inner != copies:
            self.memo(copies)[node] = self.lower(node, inner)
        elif node.op is _FOLD:
            self.fold(node, copies)
        elif node.op is _END:
            self.effects(node, copies)
        else:
            return False
        return True

    def memo(self, copies: _Copies) -> dict[Node, Node]:
        found = self.done.get(copies)
        if found is None:
            found = self.done[copies] = dict(copies)
        return found

    def restrict(self, copies: _Copies, node: Node) -> _Copies:
        """The copies that matter to `node`: loops closed below it are not affected."""
        free = self.free[node]
        return tuple([pair for pair in copies if free >> self.numbers[pair[0]] & 1])

    def fold(self, node: Node, copies: _Copies) -> None:
        """Lower the whole group of `node`."""
        done, op, ranges = self.memo(copies), node.attr[0], node.src[node.attr[1] :]
        if not ranges:
            terms = [self.lower(term, copies) for term in node.src]
            done[node] = self.chain(op, terms[0], terms[1:])
            return
        group = self.groups[node]
        owned = [(axis, self.own(axis)) for axis in ranges]
        inner = self.extend(copies, owned)
        inits = [identity(member.attr[0], member.dtype) for member in group]
        accs = [self.accumulator(member) for member in group]
        values: list[Node] = []
        for member, acc in zip(group, accs, strict=True):
            terms = [self.lower(term, inner) for term in member.src[: member.attr[1]]]
            values.append(self.chain(member.attr[0], acc, terms))
        src = (*[axis for _, axis in owned], *inits, *accs, *values)
        loop = intern(_LOOP, VOID, src, (len(owned), len(accs)))
        for index, member in enumerate(group):
            done[member] = intern(_RESULT, member.dtype, (loop,), (index,))

    def effects(self, node: Node, copies: _Copies) -> None:
        """Lower a loop that only has effects: its range belongs to it alone as well."""
        axis = node.src[0]
        owned = self.own(axis)
        inner = self.extend(copies, [(axis, owned)])
        src = (owned, *[self.lower(child, inner) for child in node.src[1:]])
        self.memo(copies)[node] = node if src == node.src else intern(_END, VOID, src)

    def own(self, axis: Node) -> Node:
        """The RANGE for a loop: `axis` itself for the first that takes it, then copies of it."""
        name, kind = axis.attr
        candidate, copy = name, 0
        while candidate in self.owned or (copy and candidate in self.names):
            copy += 1
            candidate = f"{name}#{copy}"
        self.owned.add(candidate)
        return intern(_RANGE, axis.dtype, axis.src, (candidate, kind))

    def extend(self, copies: _Copies, owned: Sequence[tuple[Node, Node]]) -> _Copies:
        changed = [pair for pair in owned if pair[0] is not pair[1]]
        return tuple(sorted([*copies, *changed], key=lambda pair: self.numbers[pair[0]]))

    def accumulator(self, fold: Node) -> Node:
        self.accumulators += 1
        return intern(_ACC, fold.dtype, (), (self.accumulators - 1,))

    def chain(self, op: Op, total: Node, terms: Sequence[Node]) -> Node:
        """total op term op term ..."""
        for term in terms:
            if op is _ADD and term.op is _WMMA:  # its own total is 0: it goes on with this one
                src = (*term.src[:2], total)
                total = self.builder.build(_WMMA, term.dtype, src, term.attr)
                continue
            is_product = op is _ADD and term.op is _MUL and term.dtype.scalar in _FUSED
            if is_product and self.fused:
                total = self.builder.build(_MULACC, term.dtype, (*term.src, total))
            else:
                total = combine(self.builder, op, total, term)
        return total
