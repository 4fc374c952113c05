"""The interned node. Walks over graphs of it are in walk.py."""

import math
import struct
from dataclasses import FrozenInstanceError
from functools import lru_cache
from typing import Any, TypeAlias

from msgspec import Struct

from compiler.errors import IRError
from compiler.ir.dtype import BOOL, DType, Kind, round_to, wrap
from compiler.ir.op import FIELDS, Field, Op
from compiler.ir.table import Table

Number: TypeAlias = int | float | bool
Attr: TypeAlias = Any  # typed per field by FIELDS; checked by compiler.ir.verify

_CONST, _SPLAT, _LOOP, _FOLD, _FLOAT = Op.CONST, Op.SPLAT, Op.LOOP, Op.FOLD, Kind.FLOAT
_SIZE, _AXES, _VIEWS = Field.SIZE, Field.AXES, Field.VIEWS
_SYMBOLIC_OPS = frozenset(
    op for op, fields in FIELDS.items() if any(kind in (_SIZE, _AXES, _VIEWS) for _, kind in fields)
)


class Node(Struct, gc=False, eq=False):
    """One operation, made by `intern` alone: equal nodes are one object. `attr` follows FIELDS.

    The collector never looks at it, which saves up to a fifth of a long run's time: so a node must
    not lead back to itself, not by a memo either.
    """

    op: Op
    dtype: DType
    src: "tuple[Node, ...]"
    attr: tuple[Attr, ...]
    below: "tuple[Node, ...]"  # sources, then the symbolic sizes in the attributes
    interval: tuple[int, int] | None = None  # memo of compiler.ir.bounds

    __hash__ = object.__hash__  # by identity: what msgspec would come to, too, but later

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}: nodes are shared")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}: nodes are shared")

    def __repr__(self) -> str:
        pairs = zip(FIELDS[self.op], self.attr, strict=True)
        fields = "".join(f" {name}={value}" for (name, _), value in pairs)
        return f"<{self.op.name} {self.dtype}{fields} of {len(self.src)}>"

    def __copy__(self) -> "Node":
        return self

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

set_interval = getattr(Node, "interval").__set__  # noqa: B009 - to mypy it is no descriptor


class _Key(Struct, frozen=True, gc=False):
    """What makes two nodes equal. No tuple: the collector would look at it, and a sweep hash it."""

    op: Op
    dtype: DType
    src: tuple[Any, ...]  # of a CONST what tells its value from others
    attr: Attr


# Two threads never get two equal nodes, and a node that nobody uses is freed in the end.
_nodes: Table[Node] = Table()


def intern(op: Op, dtype: DType, src: tuple[Node, ...] = (), attr: tuple[Attr, ...] = ()) -> Node:
    """The one node (op, dtype, src, attr). Never folds."""
    key, below = _Key(op, dtype, src, attr), src
    if op in _SYMBOLIC_OPS:
        if op is _CONST:
            attr, bits = _canonical_const(dtype, attr)
            key = _Key(op, dtype, bits, attr[1])
        below = src + _sizes_in(op, attr)
    # Most are new: to look first would be to hash the key twice
    node = Node(op, dtype, src, attr, below)
    table = _nodes.current
    if len(table) >= _nodes.limit:
        return _nodes.enter(key, node)
    found = table.setdefault(key, node)  # `enter`, where none is swept
    return found if table is _nodes.current else _nodes.enter(key, found)


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
        return intern(_SPLAT, dtype, (const(dtype.scalar, value),))
    if dtype.kind is _FLOAT:
        exact = _as_float(value)
        return _rational(dtype, exact, math.copysign(1.0, exact))
    if dtype is BOOL:
        return intern(_CONST, dtype, (), (bool(value), None))
    if type(value) is int:
        return _integer(dtype, value)
    if isinstance(value, float) and value != int(value):
        raise IRError(f"constant {value} of {dtype}: is not an integer, cast it first")
    return _integer(dtype, int(value))


# Kernels share their numbers: strides, sizes, 0 and 1


@lru_cache(maxsize=4096)
def _integer(dtype: DType, value: int) -> Node:
    return intern(_CONST, dtype, (), (wrap(dtype, value), None))


@lru_cache(maxsize=4096)
def _rational(dtype: DType, value: float, sign: float) -> Node:
    """`sign` tells 0.0 from -0.0, which are one key to a cache."""
    return intern(_CONST, dtype, (), (round_to(dtype, value), None))


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def attr_nodes(node: Node) -> tuple[Node, ...]:
    """The symbolic sizes inside a node's attributes, left to right."""
    return node.below[len(node.src) :]


def _sizes_in(op: Op, attr: tuple[Attr, ...]) -> tuple[Node, ...]:
    """The nodes inside the attributes; of fields that are none of their kind, none."""
    if op is _CONST and attr[1] is None:
        return ()
    found: list[Node] = []
    for (_, kind), value in zip(FIELDS[op], attr, strict=False):
        if kind is _SIZE and isinstance(value, Node):
            found.append(value)
        elif kind is _AXES:
            found.extend([size for _, size in value if isinstance(size, Node)])
        elif kind is _VIEWS and value is not None:
            found.extend(value.nodes())
    return tuple(found)


def operands(node: Node) -> tuple[Node, ...]:
    """Sources, then the symbolic sizes in the attributes."""
    return node.below


def replace_src(node: Node, src: tuple[Node, ...]) -> Node:
    """`node` over other sources, without folding."""
    return node if src == node.src else intern(node.op, node.dtype, src, node.attr)


def loop_accs(loop: Node) -> tuple[Node, ...]:
    """The accs of a LOOP, without its other parts."""
    ranges, accs = loop.attr
    return loop.src[ranges + accs : ranges + 2 * accs]


def closed_by(node: Node) -> tuple[Node, ...]:
    """What a node closes: the RANGEs of a FOLD, LOOP or END, outermost first, or ENDIF's IF."""
    if node.op is _FOLD:
        return node.src[node.attr[1] :]
    return node.src[: node.attr[0] if node.op is _LOOP else 1]


def acc_of(result: Node) -> Node:
    """The accumulator of a RESULT."""
    source = result.src[0]
    return loop_accs(source)[result.attr[0]] if source.op is _LOOP else source


def loop_parts(
    loop: Node,
) -> tuple[tuple[Node, ...], tuple[Node, ...], tuple[Node, ...], tuple[Node, ...]]:
    """The ranges, inits, accs and values of a LOOP."""
    ranges, accs = loop.attr
    src = loop.src
    return (
        src[:ranges],
        src[ranges : ranges + accs],
        loop_accs(loop),
        src[ranges + 2 * accs :],
    )
