"""From values to the AST of the kernel that computes them: views go down to the loads.

A value of shape (a, b) is computed over the domain g0:a, g1:b. A reduction adds reduce axes r0, r1,
...; reductions of one kernel over the same sizes share their axes, so they share their loops. Not
so where one needs the result of the other: then they are of different levels.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from compiler.frontend.graph import MOVEMENTS, Kind, Value, view_of
from compiler.frontend.symbolic import formula_of, formulas
from compiler.ir import (
    BOOL,
    VOID,
    DType,
    Node,
    Op,
    Size,
    View,
    ViewStack,
    const,
    extend,
    intern,
    spread,
    substitute,
    toposort,
    without,
)

Sizes: TypeAlias = tuple[Size, ...]
MemoryOf: TypeAlias = Callable[[Value], Hashable | None]  # what holds a value; None: computed here
_Inner: TypeAlias = tuple[int, Sizes]  # open reduce axes: the level of their reductions, and sizes
_OUTSIDE: _Inner = (0, ())  # of all reductions


@dataclass(frozen=True, slots=True)
class Built:
    """The AST of a kernel, and the values that its buffers hold: outputs, then inputs."""

    ast: Node
    buffers: tuple[Value, ...]
    outputs: int

    @property
    def made(self) -> tuple[Value, ...]:
        return self.buffers[: self.outputs]

    @property
    def read(self) -> tuple[Value, ...]:
        return self.buffers[self.outputs :]


def build(root: Value, memory_of: MemoryOf) -> Built:
    """The kernel that computes `root` from the values below it that are in memory."""
    built = build_together((root,), (root,), memory_of)
    assert built is not None, "one value alone is seen as it is"
    return built


def build_together(
    roots: Sequence[Value], inside: Collection[Value], memory_of: MemoryOf
) -> Built | None:
    """One kernel for equally shaped `roots`.

    Values of `inside`, the roots among them, are made by the kernel and not read, though others
    have them in memory. None if the kernel needs one of those otherwise than element by element.
    """
    shape = formulas(roots[0].shape)
    domain = _Domain(shape, lambda value: None if value in inside else memory_of(value))
    whole = ViewStack.contiguous(shape)
    tops = {value: domain.look(value, whole, _OUTSIDE, is_guarded=True) for value in inside}
    for root in roots:
        domain.slot(root, root)
    order = _looks([tops[root] for root in roots], tops, domain)
    if order is None:
        return None
    nodes: dict[_Look, Node] = {}
    for look, below in order:  # the whole domain is known by now
        memory = domain.memory_of(look.value)
        if memory is not None:
            nodes[look] = domain.load(look, memory)
        else:
            nodes[look] = _node(look, [nodes[child] for child in below], domain)
    results = [nodes[tops[root]] for root in roots]
    return _without_unread(Built(domain.sink(results), tuple(domain.buffers), len(roots)), domain)


def _without_unread(built: Built, domain: "_Domain") -> Built:
    """The kernel without the buffers that only a branch which was dropped would have read."""
    if not domain.has_dropped:
        return built
    buffers = {node.attr[0]: node for node in toposort(built.ast) if node.op is Op.BUFFER}
    if len(buffers) == len(built.buffers):
        return built
    slots = sorted(buffers)
    renumbered = {
        buffers[old]: intern(Op.BUFFER, buffers[old].dtype, (), (new, *buffers[old].attr[1:]))
        for new, old in enumerate(slots)
    }
    kept = tuple([built.buffers[slot] for slot in slots])
    return Built(substitute(built.ast, renumbered), kept, built.outputs)


def _looks(
    roots: "Sequence[_Look]", tops: "Mapping[Value, _Look]", domain: "_Domain"
) -> "list[tuple[_Look, tuple[_Look, ...]]] | None":
    """Everything that the kernel sees, sources first, each with what it is made of.

    None if it sees one of its own values otherwise than from the top.
    """
    below: dict[_Look, tuple[_Look, ...]] = {}
    order: list[tuple[_Look, tuple[_Look, ...]]] = []
    stack = [(root, False) for root in reversed(roots)]
    while stack:  # iterative: chains are deeper than Python's stack
        look, is_expanded = stack.pop()
        if is_expanded:
            order.append((look, below[look]))
        elif look not in below:
            value = look.value
            is_table = value.kind is Kind.GATHER and value.src[0] in tops
            if is_table or look is not tops.get(value, look):
                return None
            is_leaf = domain.memory_of(value) is not None
            below[look] = () if is_leaf else _below(look, domain)
            stack.append((look, True))
            stack.extend([(child, False) for child in reversed(below[look])])
    return order


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """A value as the kernel sees it: through a view over the output axes and open reduce axes.

    Made by `_Domain.look`, so equal looks are one object.
    """

    value: Value
    stack: ViewStack
    inner: _Inner  # the reduce axes that are open here
    is_guarded: bool  # what is outside the masks is discarded further up


@dataclass(slots=True)
class _Domain:
    """The axes and buffers of one kernel, growing while `build` goes through it."""

    outer: Sizes
    memory_of: MemoryOf
    groups: dict[_Inner, range] = field(default_factory=dict)  # the axes of reductions
    inner: list[Size] = field(default_factory=list)
    slots: dict[Hashable, int] = field(default_factory=dict)
    buffers: list[Value] = field(default_factory=list)
    looks: dict[tuple[Value, ViewStack, _Inner, bool], _Look] = field(default_factory=dict)
    levels: dict[Value, int] = field(default_factory=dict)  # memo of `level`
    has_dropped: bool = False  # something that was seen is in no result

    def look(self, value: Value, stack: ViewStack, inner: _Inner, *, is_guarded: bool) -> _Look:
        """The one look of that kind."""
        key = (value, stack, inner, is_guarded)
        found = self.looks.get(key)
        if found is None:
            found = self.looks[key] = _Look(value, stack, inner, is_guarded)
        return found

    def open(self, inner: _Inner) -> None:
        """Make these reduce axes, if there are none yet."""
        if inner not in self.groups:
            first = len(self.inner)
            self.groups[inner] = range(first, first + len(inner[1]))
            self.inner.extend(inner[1])

    def level(self, value: Value) -> int:
        """How many reductions of this kernel need one another's results down from `value`."""
        stack = [value]
        while stack:  # iterative: chains are deeper than Python's stack
            node = stack[-1]
            below = () if self.memory_of(node) is not None else node.src
            missing = [child for child in below if child not in self.levels]
            if missing:
                stack.extend(missing)
                continue
            highest = max([self.levels[child] for child in below], default=0)
            is_reduction = node.kind is Kind.REDUCE and bool(below)
            self.levels[node] = highest + 1 if is_reduction else highest
            stack.pop()
        return self.levels[value]

    def whole(self, stack: ViewStack, inner: _Inner) -> ViewStack:
        """A view over the output axes and `inner` as a view over all axes."""
        rank = len(self.outer)
        axes = [*range(rank), *[rank + axis for axis in self.groups.get(inner, ())]]
        return spread(stack, (*self.outer, *self.inner), dict(enumerate(axes)))

    def needs_guard(self, padded: Value) -> bool:
        """Whether a masked load does not make the padding 0 by itself."""
        value = padded.src[0]
        while self.memory_of(value) is None and _keeps_zero(value):
            value = value.src[0]
        return self.memory_of(value) is None and value.kind in _COMPUTED

    def slot(self, value: Value, memory: Hashable) -> int:
        if memory not in self.slots:
            self.slots[memory] = len(self.buffers)
            self.buffers.append(value)
        return self.slots[memory]

    def load(self, look: _Look, memory: Hashable) -> Node:
        value = look.value
        if look.stack.is_void:
            return _zero(value.dtype)
        view = self.whole(look.stack, look.inner)
        return intern(Op.LOAD, value.dtype, (self.buffer(value, memory),), (view,))

    def buffer(self, value: Value, memory: Hashable) -> Node:
        return intern(
            Op.BUFFER, value.dtype, (), (self.slot(value, memory), formula_of(value.size))
        )

    def gather(self, value: Value, offset: Node) -> Node:
        memory = self.memory_of(value.src[0])
        assert memory is not None, "split puts the tables of gathers in memory"
        return intern(Op.GATHER, value.dtype, (self.buffer(value.src[0], memory), offset))

    def count(self, look: _Look) -> Node:
        if look.stack.is_void:
            return _zero(look.value.dtype)
        return intern(Op.INDEX, look.value.dtype, (), (self.whole(look.stack, look.inner),))

    def constant(self, number: Node, stack: ViewStack, inner: _Inner) -> Node:
        """`number` where the masks of `stack` hold, 0 elsewhere."""
        if stack.is_void:
            return _zero(number.dtype)
        masks = _masks(stack)
        if masks is None:
            return number
        return intern(Op.CONST, number.dtype, (), (number.value, self.whole(masks, inner)))

    def sink(self, results: Sequence[Node]) -> Node:
        view = self.whole(ViewStack.contiguous(self.outer), _OUTSIDE)
        stores: list[Node] = []
        for slot, (root, result) in enumerate(zip(self.buffers, results, strict=False)):
            buffer = intern(Op.BUFFER, root.dtype, (), (slot, formula_of(root.size)))
            stores.append(intern(Op.STORE, VOID, (buffer, result), (view,)))
        names = [f"g{i}" for i in range(len(self.outer))] + [
            f"r{i}" for i in range(len(self.inner))
        ]
        axes = tuple(zip(names, (*self.outer, *self.inner), strict=True))
        return intern(Op.SINK, VOID, tuple(stores), (axes,))


_COMPUTED = (Kind.ELEMENTWISE, Kind.REDUCE, Kind.GATHER)


def _keeps_zero(value: Value) -> bool:
    return value.kind in MOVEMENTS or (value.kind is Kind.ELEMENTWISE and value.arg is Op.CAST)


def _zero(dtype: DType) -> Node:
    return const(dtype, 0)


def _masks(stack: ViewStack) -> ViewStack | None:
    """The view of a buffer of one element with the masks of `stack`; None if there are none."""
    masked = [index for index, view in enumerate(stack.views) if view.mask is not None]
    if not masked:
        return None
    innermost = stack.views[masked[0]]
    zeros = (0,) * len(innermost.shape)
    only_mask = View(innermost.shape, zeros, 0, innermost.mask).canonical()
    return ViewStack((only_mask,)).compose(ViewStack(stack.views[masked[0] + 1 :]))


# --- one value ------------------------------------------------------------------------------------


def _below(look: _Look, domain: _Domain) -> tuple[_Look, ...]:
    """What has to be looked at to make `look`."""
    value = look.value
    match value.kind:
        case Kind.CONST | Kind.COUNT:
            return ()
        case Kind.ELEMENTWISE:
            # f(0) is not 0: whoever pads an elementwise value guards it. Casts keep 0.
            is_guarded = look.is_guarded if value.arg is Op.CAST else True
            return tuple(
                [
                    domain.look(source, look.stack, look.inner, is_guarded=is_guarded)
                    for source in value.src
                ]
            )
        case Kind.GATHER:
            return (domain.look(value.src[1], look.stack, look.inner, is_guarded=True),)
        case Kind.REDUCE:
            return (_under_reduce(look, domain),)
        case Kind.CONTIGUOUS:
            source = value.src[0]
            return (domain.look(source, look.stack, look.inner, is_guarded=look.is_guarded),)
        case _:
            is_guarded = domain.needs_guard(value) if value.kind is Kind.PAD else look.is_guarded
            seen = view_of(value).compose(look.stack)
            return (domain.look(value.src[0], seen, look.inner, is_guarded=is_guarded),)


def _under_reduce(look: _Look, domain: _Domain) -> _Look:
    value, stack = look.value, look.stack
    if look.inner != _OUTSIDE:  # a row's result, the same wherever in the row it is asked for
        stack = without(stack, len(domain.outer))
    source, (_, axes) = value.src[0], value.arg
    sizes = _sizes(value)
    inner = (domain.level(value), sizes)
    domain.open(inner)
    kept = tuple([axis for axis in range(source.ndim) if axis not in axes])
    rows = ViewStack.contiguous(formulas(source.shape)).permute((*kept, *axes))
    seen = rows.compose(extend(stack, sizes))
    return domain.look(source, seen, inner, is_guarded=True)


def _node(look: _Look, below: list[Node], domain: _Domain) -> Node:
    value = look.value
    match value.kind:
        case Kind.CONST:
            if look.is_guarded:
                return value.arg  # type: ignore[no-any-return]  # arg is typed by Kind
            return domain.constant(value.arg, look.stack, look.inner)
        case Kind.COUNT:
            return domain.count(look)
        case Kind.ELEMENTWISE:
            return _elementwise(value, below, domain)
        case Kind.GATHER:
            return domain.gather(value, below[0])
        case Kind.REDUCE:
            inner = (domain.level(value), _sizes(value))
            names = tuple([f"r{axis}" for axis in domain.groups[inner]])
            return intern(Op.REDUCE, value.dtype, tuple(below), (value.arg[0], names))
        case Kind.PAD if domain.needs_guard(value):
            inside = view_of(value).compose(look.stack)
            cond = domain.constant(const(BOOL, True), inside, look.inner)  # noqa: FBT003  # the number
            return intern(Op.WHERE, value.dtype, (cond, below[0], _zero(value.dtype)))
        case _:
            return below[0]


def _sizes(reduction: Value) -> Sizes:
    return formulas(tuple([reduction.src[0].shape[axis] for axis in reduction.arg[1]]))


def _elementwise(value: Value, src: list[Node], domain: _Domain) -> Node:
    if value.arg is Op.WHERE:  # a guard inside the same guard says nothing
        cond, a, b = src
        if a.op is Op.WHERE and a.src[0] is cond:
            a, domain.has_dropped = a.src[1], True
        if b.op is Op.WHERE and b.src[0] is cond:
            b, domain.has_dropped = b.src[2], True
        return intern(Op.WHERE, value.dtype, (cond, a, b))
    return intern(value.arg, value.dtype, tuple(src))
