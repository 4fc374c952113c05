"""The interned node, walks over graphs of it, and integer bounds computed as nodes are made."""

import math
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias
from weakref import ref

from compiler.errors import IRError
from compiler.ir.dtype import BOOL, DType, Kind, round_to, wrap
from compiler.ir.op import FIELDS, Field, Op

Number: TypeAlias = int | float | bool
Attr: TypeAlias = Any  # typed per field by FIELDS; checked by compiler.ir.verify

_CONST = Op.CONST
_SIZE, _AXES, _VIEWS = Field.SIZE, Field.AXES, Field.VIEWS
_SYMBOLIC_OPS = frozenset(
    op for op, fields in FIELDS.items() if any(kind in (_SIZE, _AXES, _VIEWS) for _, kind in fields)
)


@dataclass(frozen=True, slots=True, eq=False, repr=False, weakref_slot=True)
class Node:
    """One operation, made by `intern` alone: equal nodes are one object. `attr` follows FIELDS."""

    op: Op
    dtype: DType
    src: "tuple[Node, ...]"
    attr: tuple[Attr, ...]
    # Memos of pure functions of the node; a slot is empty until it is filled, so read with getattr
    interval: tuple[int, int] = field(init=False)  # by compiler.ir.bounds
    is_checked: bool = field(init=False)  # by compiler.ir.verify
    below: "tuple[Node, ...]" = field(init=False)  # by `operands`

    def __repr__(self) -> str:
        pairs = zip(FIELDS[self.op], self.attr, strict=True)
        fields = "".join(f" {name}={value}" for (name, _), value in pairs)
        return f"<{self.op.name} {self.dtype}{fields} of {len(self.src)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (intern, (self.op, self.dtype, self.src, self.attr))

    @property
    def value(self) -> int | float | bool:
        """The number of a CONST."""
        assert self.op is _CONST
        return self.attr[0]  # type: ignore[no-any-return]  # attr is typed by FIELDS

    @property
    def is_const(self) -> bool:
        """Whether this is a CONST without a view."""
        return self.op is _CONST and self.attr[1] is None


Size: TypeAlias = int | Node

# What a frozen dataclass does to set a field, without its detour over the name: half the time.
_new = object.__new__
_set_op, _set_dtype, _set_src, _set_attr = [
    getattr(Node, name).__set__ for name in ("op", "dtype", "src", "attr")
]
set_interval, set_is_checked, _set_below = [
    getattr(Node, name).__set__ for name in ("interval", "is_checked", "below")
]


class _Entry(ref[Node]):
    """A node in the table, as long as it lives."""

    __slots__ = ("key",)
    key: tuple[Any, ...]


# A WeakValueDictionary, taken apart for speed: what dies is only noted, and leaves the table when
# the next node enters it. Entries enter by setdefault, which is atomic, so that two threads never
# intern two equal nodes; they leave when dead and under the lock alone.
_table: dict[tuple[Any, ...], _Entry] = {}
_dead: list[ref[Node]] = []
_lock = threading.Lock()


def intern(op: Op, dtype: DType, src: tuple[Node, ...] = (), attr: tuple[Attr, ...] = ()) -> Node:
    """The one node (op, dtype, src, attr). Never folds."""
    key: tuple[Any, ...] = (op, dtype, src, attr)
    if op is _CONST:
        attr, bits = _canonical_const(dtype, attr)
        key = (op, dtype, bits, attr[1])
    entry = _table.get(key)
    if entry is not None:
        found = entry()
        if found is not None:
            return found
    node = _new(Node)
    _set_op(node, op)
    _set_dtype(node, dtype)
    _set_src(node, src)
    _set_attr(node, attr)
    return _enter(key, node)


def _enter(key: tuple[Any, ...], node: Node) -> Node:
    """The node that is in the table under `key` from now on: `node`, or another thread's."""
    entry = _Entry(node, _dead.append)
    entry.key = key
    while True:
        other = _table.setdefault(key, entry)
        if other is entry:
            break
        found = other()
        if found is not None:
            return found
        with _lock:
            _remove(other)
    if _dead:
        _bury()
    return node


def _bury() -> None:
    """Take what died out of the table, and what dies with it because only a key held it."""
    with _lock:  # one thread at a time takes from _dead
        while _dead:
            _remove(_dead.pop())


def _remove(entry: ref[Node]) -> None:
    """Take a dead entry out of the table, if it is still there. For owners of the lock."""
    assert isinstance(entry, _Entry)
    if _table.get(entry.key) is entry:
        del _table[entry.key]


def _canonical_const(dtype: DType, attr: tuple[Attr, ...]) -> tuple[tuple[Attr, ...], Attr]:
    """0.0, -0.0, 0 and False are equal to Python: floats are told apart by their bits."""
    value, view = attr if len(attr) == 2 else (attr[0], None)
    if isinstance(value, float):
        bits = struct.pack("<d", math.nan if math.isnan(value) else value)
        return (math.nan if math.isnan(value) else value, view), bits
    return (value, view), (type(value).__name__, value)


def const(dtype: DType, value: Number) -> Node:
    """`value` as a CONST (SPLAT for a vector) of `dtype`: integers wrap, floats round once."""
    if dtype.count > 1:
        return intern(Op.SPLAT, dtype, (const(dtype.scalar, value),))
    if dtype.kind is Kind.FLOAT:
        return intern(_CONST, dtype, (), (round_to(dtype, _as_float(value)), None))
    if dtype is BOOL:
        return intern(_CONST, dtype, (), (bool(value), None))
    if type(value) is int:
        return _integer(dtype, value)
    if isinstance(value, float) and value != int(value):
        raise IRError(f"constant {value} of {dtype}: is not an integer, cast it first")
    return _integer(dtype, int(value))


@lru_cache(maxsize=4096)
def _integer(dtype: DType, value: int) -> Node:
    """Kernels share their integers: strides, sizes, 0 and 1."""
    return intern(_CONST, dtype, (), (wrap(dtype, value), None))


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def attr_nodes(node: Node) -> tuple[Node, ...]:
    """The symbolic sizes inside a node's attributes, left to right."""
    op, attr = node.op, node.attr
    if op not in _SYMBOLIC_OPS or (op is _CONST and attr[1] is None):
        return ()
    found: list[Node] = []
    for (_, kind), value in zip(FIELDS[op], attr, strict=True):
        if kind is _SIZE and isinstance(value, Node):
            found.append(value)
        elif kind is _AXES:
            found.extend([size for _, size in value if isinstance(size, Node)])
        elif kind is _VIEWS and value is not None:
            found.extend(value.nodes())
    return tuple(found)


def operands(node: Node) -> tuple[Node, ...]:
    """Sources, then the symbolic sizes in the attributes."""
    if node.op not in _SYMBOLIC_OPS:
        return node.src
    below: tuple[Node, ...] | None = getattr(node, "below", None)
    if below is None:
        below = node.src + attr_nodes(node)
        _set_below(node, below)
    return below


def toposort(*roots: Node) -> list[Node]:
    """Every node reachable from `roots` once, operands first, in depth-first order of operands."""
    order: list[Node] = []
    done: set[Node] = set()
    above: list[Node] = []  # from a root down to `node`, and for each what is left of its operands
    waiting: list[Iterator[Node]] = []
    for root in roots:
        if root in done:
            continue
        done.add(root)
        node, rest = root, iter(operands(root))
        while True:
            for child in rest:
                if child in done:
                    continue
                done.add(child)
                below = operands(child) if child.op in _SYMBOLIC_OPS else child.src
                if below:
                    above.append(node)
                    waiting.append(rest)
                    node, rest = child, iter(below)
                    break
                order.append(child)
            else:
                order.append(node)
                if not above:
                    break
                node, rest = above.pop(), waiting.pop()
    return order


def replace_src(node: Node, src: tuple[Node, ...]) -> Node:
    """`node` over other sources, without folding."""
    return node if src == node.src else intern(node.op, node.dtype, src, node.attr)


def substitute(
    root: Node, mapping: Mapping[Node, Node], build: Callable[..., Node] = intern
) -> Node:
    """`root` with nodes replaced by `mapping`; nodes above one are made again with `build`.

    Sources only: symbolic sizes inside attributes stay.
    """
    done: dict[Node, Node] = dict(mapping)
    for node in toposort(root):
        if node not in done:
            src = tuple([done[child] for child in node.src])
            done[node] = node if src == node.src else build(node.op, node.dtype, src, node.attr)
    return done[root]


def depends_on(root: Node, targets: Iterable[Node]) -> bool:
    """Whether any of `targets` is reachable from `root`."""
    wanted = frozenset(targets)
    return any(node in wanted for node in toposort(root))


def loop_parts(
    loop: Node,
) -> tuple[tuple[Node, ...], tuple[Node, ...], tuple[Node, ...], tuple[Node, ...]]:
    """The ranges, inits, accs and values of a LOOP."""
    ranges, accs = loop.attr
    src = loop.src
    return (
        src[:ranges],
        src[ranges : ranges + accs],
        src[ranges + accs : ranges + 2 * accs],
        src[ranges + 2 * accs :],
    )
