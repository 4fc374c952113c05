"""Sizes that a kernel learns when it runs: a variable, bound to a number, in the shape of a tensor.

A `BoundSize` is that number together with the formula that it is the value of. A graph is made for
the number, so everything that Python decides on the way is right for it; its kernels are made for
the formula, so they are the same for every value of the variable.
"""

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeGuard

from compiler.backends import size_value
from compiler.errors import DTypeError, ShapeError
from compiler.frontend.assumptions import (
    HIGHEST,
    LOWEST,
    Countable,
    assume,
    fitting,
    is_noted,
    note,
)
from compiler.ir import INT64, Node, Op, Size, intern, sym, toposort

if TYPE_CHECKING:
    _Int = int  # it is used as one
else:
    _Int = object
Bindings = Mapping[str, "BoundSize"]  # by the name of the variable
NONE: Bindings = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Variable:
    """A size between `low` and `high`, both included: `tensor.bind(Variable("batch", 1, 64))`."""

    name: str
    low: int
    high: int

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not all(type(n) is int for n in (self.low, self.high)):
            raise DTypeError(f"variable {self}: needs a name and two integers")
        if not (self.name.isascii() and self.name.isidentifier()):
            raise ShapeError(f"variable {self.name!r}: use letters, digits and underscores")
        if not 1 <= self.low <= self.high < 2**31:
            raise ShapeError(f"variable {self}: needs 1 <= low <= high < 2**31")

    def __str__(self) -> str:
        return f"{self.name} from {self.low} to {self.high}"

    def bind(self, value: int) -> "BoundSize":
        """The variable at one value. Raises ShapeError outside of its range."""
        if not isinstance(value, int) or isinstance(value, bool | BoundSize):
            raise DTypeError(f"variable {self.name} is bound to {value!r}: use an integer")
        if not self.low <= value <= self.high:
            raise ShapeError(f"variable {self}: cannot be bound to {value}")
        assume(self.node, Op.EQ, value, answer=True)
        return _variable(self.node, value)

    @property
    def node(self) -> Node:
        """The variable in the IR."""
        return intern(Op.VAR, INT64, (), (self.name, self.low, self.high))


class BoundSize(_Int):
    """A number that is the value of `formula` under `bindings`. Arithmetic goes on with both.

    It equals a number with the same formula only: a kernel for 8 rows is not one for `batch` rows,
    though `batch` be 8. An order is decided by the range of the formula where that is enough, and
    otherwise by the number, as is everything that needs a plain one (`int(size)`, `range(size)`):
    see `assume`. Were it an int, Python would take its number without asking it.
    """

    __slots__ = ("bindings", "formula", "value")

    def __init__(self, value: int, formula: Node, bindings: Bindings) -> None:
        self.value, self.formula, self.bindings = value, formula, bindings

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BoundSize):
            return False
        return self.formula is other.formula and plain(self) == plain(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((plain(self), self.formula))

    def __repr__(self) -> str:
        return f"{sym.text(self.formula)}={plain(self)}"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __lt__(self, other: float) -> bool:
        return _compare(Op.LT, self, other)

    def __le__(self, other: float) -> bool:
        return _compare(Op.LE, self, other)

    def __gt__(self, other: float) -> bool:
        return _compare(Op.LT, other, self)

    def __ge__(self, other: float) -> bool:
        return _compare(Op.LE, other, self)

    def __bool__(self) -> bool:
        return _compare(Op.LT, self, 0) or _compare(Op.LT, 0, self)

    def __add__(self, other: int) -> int:
        return _combine(sym.add, operator.add, self, other)

    def __radd__(self, other: int) -> int:
        return _combine(sym.add, operator.add, other, self)

    def __sub__(self, other: int) -> int:
        return _combine(sym.sub, operator.sub, self, other)

    def __rsub__(self, other: int) -> int:
        return _combine(sym.sub, operator.sub, other, self)

    def __mul__(self, other: int) -> int:
        return _combine(sym.mul, operator.mul, self, other)

    def __rmul__(self, other: int) -> int:
        return _combine(sym.mul, operator.mul, other, self)

    def __floordiv__(self, other: int) -> int:
        return _combine(_floordiv, operator.floordiv, self, other)

    def __rfloordiv__(self, other: int) -> int:
        return _combine(_floordiv, operator.floordiv, other, self)

    def __mod__(self, other: int) -> int:
        return _combine(_mod, operator.mod, self, other)

    def __rmod__(self, other: int) -> int:
        return _combine(_mod, operator.mod, other, self)

    def __neg__(self) -> int:
        return 0 - self

    def __pos__(self) -> int:
        return self

    def __abs__(self) -> int:
        return self if self >= 0 else -self

    def __int__(self) -> int:
        return fixed(self)

    def __index__(self) -> int:
        return fixed(self)

    def __float__(self) -> float:
        return float(fixed(self))

    def __truediv__(self, other: float) -> float:
        return fixed(self) / plain_number(other) if is_number(other) else NotImplemented

    def __rtruediv__(self, other: float) -> float:
        return plain_number(other) / fixed(self) if is_number(other) else NotImplemented

    def bit_length(self) -> int:
        """Of the plain number."""
        return fixed(self).bit_length()


INTEGERS = (int, BoundSize)


def is_number(x: object) -> TypeGuard[float]:
    """Whether this is a Python number or a symbolic size."""
    return isinstance(x, (int, float, BoundSize))


def plain_number(x: float) -> float:
    """The number, for what is decided by it."""
    return fixed(x) if isinstance(x, BoundSize) else x


def _variable(node: Node, value: int) -> BoundSize:
    size = BoundSize(value, node, NONE)
    size.bindings = MappingProxyType({node.attr[0]: size})
    return size


# --- arithmetic -----------------------------------------------------------------------------------


def _combine(
    symbolic: Callable[[Size, Size], Size], numeric: Callable[[Any, Any], Any], a: int, b: int
) -> int:
    if not all(is_number(x) for x in (a, b)):
        return NotImplemented  # type: ignore[no-any-return]  # an array: let it have a try
    if any(isinstance(x, float) for x in (a, b)):
        found: int = numeric(plain_number(a), plain_number(b))
        return found
    left, right = plain(a), plain(b)
    value = numeric(left, right)
    for x in (left, right, value):
        if not LOWEST <= x <= HIGHEST:
            fixed(a), fixed(b)  # whoever catches this goes on by their numbers
            raise ShapeError(f"{a} and {b} in one size: {x} does not fit in 64 bits")
    bindings = merged([x.bindings for x in (a, b) if isinstance(x, BoundSize)])
    formula = symbolic(formula_of(a), formula_of(b))
    if isinstance(formula, int):
        return formula
    if is_noted():
        note(*fitting(formula))
    return BoundSize(value, formula, bindings)


def _floordiv(a: Size, b: Size) -> Size:
    """a // b also for a size that is never positive, as in -(-size // 2)."""
    if sym.exact_div(a, b) is None and sym.interval(a)[1] <= 0 < sym.interval(b)[0]:
        return sym.neg(sym.floordiv(sym.add(sym.neg(a), sym.sub(b, 1)), b))
    return sym.floordiv(a, b)


def _mod(a: Size, b: Size) -> Size:
    """a % b also for a size that is never positive, as in -1 % size."""
    if sym.exact_div(a, b) is not None or sym.interval(a)[1] > 0 or sym.interval(b)[0] < 1:
        return sym.mod(a, b)
    if sym.interval(a)[1] < 0 and sym.is_at_most(0, sym.add(a, b)):
        return sym.add(a, b)
    return sym.mod(sym.sub(b, sym.mod(sym.neg(a), b)), b)


def _compare(op: Op, a: float, b: float) -> bool:
    if not isinstance(a, INTEGERS) or not isinstance(b, INTEGERS):
        if not is_number(a) or not is_number(b):
            return NotImplemented  # type: ignore[no-any-return]  # let the other one have a try
        left, right = plain_number(a), plain_number(b)
        return left < right if op is Op.LT else left <= right
    return _is_ordered(op, a, b)


def _is_ordered(op: Op, a: int, b: int) -> bool:
    left, right = formula_of(a), formula_of(b)
    low, high = sym.difference(right, left)
    least = 1 if op is Op.LT else 0
    if low >= least or high < least:
        return low >= least
    return assume(left, op, right, answer=plain(b) - plain(a) >= least)


# --- what a size is -------------------------------------------------------------------------------


def plain(size: int) -> int:
    """The number, for what is done anew for every value: allocating, copying, printing."""
    return size.value if isinstance(size, BoundSize) else size


def fixed(size: int) -> int:
    """The number, for what is decided by it."""
    if isinstance(size, BoundSize):
        assume(size.formula, Op.EQ, plain(size), answer=True)
    return plain(size)


def is_one(size: int) -> bool:
    """Whether the number is 1, for what then leaves an axis out."""
    if isinstance(size, BoundSize):
        return assume(size.formula, Op.EQ, 1, answer=plain(size) == 1)
    return size == 1


def formula_of(size: int) -> Size:
    """A size as the IR knows it: a number, or a formula of variables."""
    return size.formula if isinstance(size, BoundSize) else size


def formulas(shape: tuple[int, ...]) -> tuple[Size, ...]:
    """A shape as the IR knows it."""
    for size in shape:
        if type(size) is not int:
            return tuple([formula_of(size) for size in shape])
    return shape


def in_ir(arg: object) -> object:
    """Sizes as the IR knows them, in nested tuples of whatever."""
    if isinstance(arg, tuple):
        return tuple([in_ir(item) for item in arg])
    return arg.formula if isinstance(arg, BoundSize) else arg


def is_symbolic(size: object) -> TypeGuard[BoundSize]:
    """Whether a size depends on a variable."""
    return isinstance(size, BoundSize)


def smallest(size: int) -> int:
    """The least that a size may be."""
    return sym.interval(size.formula)[0] if isinstance(size, BoundSize) else size


def largest(size: int) -> int:
    """The most that a size may be."""
    return sym.interval(size.formula)[1] if isinstance(size, BoundSize) else size


def minimum(a: int, b: int) -> int:
    """The smaller of two sizes, whatever the variables are."""
    return _combine(sym.minimum, min, a, b)


def maximum(a: int, b: int) -> int:
    """The greater of two sizes, whatever the variables are."""
    return _combine(sym.maximum, max, a, b)


def element_count(shape: tuple[int, ...]) -> int:
    """How many elements, axes without any left aside; noted where that decides."""
    count = prod([plain(size) or 1 for size in shape])
    if is_noted() and prod([max(1, largest(size)) for size in shape]) > HIGHEST:
        note(Countable(formulas(shape), count <= HIGHEST))
    return count


# --- bindings -------------------------------------------------------------------------------------


def numbers(bindings: Bindings) -> dict[str, int]:
    """The value of each variable."""
    return {name: plain(size) for name, size in bindings.items()}


def values_of(size: BoundSize) -> tuple[int, ...]:
    """What its variables are, in order of their names."""
    bindings = size.bindings
    names = bindings if len(bindings) == 1 else sorted(bindings)
    return tuple([bindings[name].value for name in names])


def rebound(size: int, values: Mapping[str, int]) -> int:
    """The same formula at other values of the variables."""
    if not isinstance(size, BoundSize):
        return size
    names = size.bindings.items()
    bindings = {name: _variable(old.formula, values[name]) for name, old in names}
    return at(size.formula, bindings)


def at(size: Size, bindings: Bindings) -> int:
    """What a size of the IR is under these bindings."""
    if isinstance(size, int):
        return size
    names = [node.attr[0] for node in toposort(size) if node.op is Op.VAR]
    used = {name: bindings[name] for name in names}
    value = size_value(size, numbers(used))
    if not LOWEST <= value <= HIGHEST:
        raise ShapeError(f"size {sym.text(size)}: its value {value} does not fit in 64 bits")
    return BoundSize(value, size, used)


def merged(parts: Iterable[Bindings]) -> Bindings:
    """All of them together. Raises ShapeError where one variable has two values or two ranges."""
    total: dict[str, BoundSize] = {}
    for part in parts:
        for name, size in part.items():
            if total.setdefault(name, size) != size:
                raise ShapeError(_conflict(name, total[name], size))
    return total or NONE


def _conflict(name: str, a: BoundSize, b: BoundSize) -> str:
    (_, *one), (_, *two) = a.formula.attr, b.formula.attr
    if a.formula is b.formula:
        return (
            f"variable {name} from {one[0]} to {one[1]}: is bound to {plain(a)} and to {plain(b)} "
            "in one graph, realize one of them first or use two variables"
        )
    return (
        f"variable {name}: is from {one[0]} to {one[1]} and from {two[0]} to {two[1]} in one graph"
    )
