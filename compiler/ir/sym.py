"""Arithmetic on sizes: ints stay ints, symbolic ones become polynomials in one canonical order.

Sizes are mathematical integers: a size, stride or offset of a real buffer never leaves int64.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, reduce
from hashlib import sha256
from typing import TypeAlias

from compiler.errors import ShapeError
from compiler.ir.bounds import bounds
from compiler.ir.dtype import INT64, DType
from compiler.ir.node import Node, Size, const, intern
from compiler.ir.op import Op

_CONST, _ADD, _SUB, _MUL, _NEG = Op.CONST, Op.ADD, Op.SUB, Op.MUL, Op.NEG

_Monomial: TypeAlias = tuple[Node, ...]  # atoms in order of _key; () is the constant term
_Polynomial: TypeAlias = dict[_Monomial, int]

_LONGEST_KEY = 4096  # characters
_REMEMBERED = 4096  # nodes whose key and polynomial are


def add(a: Size, b: Size) -> Size:
    """a + b."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return _build(_plus(_terms(a), _terms(b), 1), a, b)


def sub(a: Size, b: Size) -> Size:
    """a - b."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return _build(_plus(_terms(a), _terms(b), -1), a, b)


def mul(a: Size, b: Size) -> Size:
    """a * b."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    return _build(_times(_terms(a), _terms(b)), a, b)


def neg(a: Size) -> Size:
    """-a."""
    return sub(0, a)


def product(sizes: tuple[Size, ...]) -> Size:
    """The product of all sizes; 1 of none."""
    total: Size = 1
    for size in sizes:
        total = mul(total, size)
    return total


def floordiv(a: Size, b: Size) -> Size:
    """a // b for b > 0. Raises ShapeError if a symbolic a may be negative."""
    if isinstance(a, int) and isinstance(b, int) and b > 0:
        return a // b
    exact = exact_div(a, b)
    if exact is not None:
        return exact
    _require_positive(a, b, "//")
    low, high = interval(a)
    if isinstance(b, int) and low // b == high // b:
        return low // b
    return intern(Op.IDIV, *_pair(a, b))


def mod(a: Size, b: Size) -> Size:
    """a % b for b > 0. Raises ShapeError if a symbolic a may be negative."""
    if isinstance(a, int) and isinstance(b, int) and b > 0:
        return a % b
    if exact_div(a, b) is not None:
        return 0
    _require_positive(a, b, "%")
    if is_less(a, b):
        return a
    return intern(Op.MOD, *_pair(a, b))


def maximum(a: Size, b: Size) -> Size:
    """The greater of two sizes."""
    if is_at_most(a, b):
        return b
    return a if is_at_most(b, a) else intern(Op.MAX, *_pair(*_ordered(a, b)))


def minimum(a: Size, b: Size) -> Size:
    """The smaller of two sizes."""
    if is_at_most(a, b):
        return a
    return b if is_at_most(b, a) else intern(Op.MIN, *_pair(*_ordered(a, b)))


def exact_div(a: Size, b: Size) -> Size | None:
    """The q with q * b = a whatever the variables are, if there is one that can be written down."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b != 0 and a % b == 0 else None
    numerator, divisor = _terms(a), _terms(b)
    if len(divisor) != 1:
        return 1 if numerator == divisor and divisor else (0 if not numerator else None)
    ((atoms, factor),) = divisor.items()
    quotient: _Polynomial = {}
    for monomial, coefficient in numerator.items():
        rest = _without(monomial, atoms)
        if rest is None or coefficient % factor != 0:
            return None
        quotient[rest] = coefficient // factor
    return _build(quotient, a, b)


def is_equal(a: Size, b: Size) -> bool:
    """Whether a = b is certain."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return a is b or not _plus(_terms(a), _terms(b), -1)


def is_at_most(a: Size, b: Size) -> bool:
    """Whether a <= b is certain."""
    if isinstance(a, int) and isinstance(b, int):
        return a <= b
    return difference(b, a)[0] >= 0


def is_less(a: Size, b: Size) -> bool:
    """Whether a < b is certain."""
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    return difference(b, a)[0] > 0


def interval(size: Size) -> tuple[int, int]:
    """The least and greatest value of a size: never too narrow, not always tight."""
    return (size, size) if isinstance(size, int) else _ends(_terms(size))


def difference(a: Size, b: Size) -> tuple[int, int]:
    """The interval of a - b, whose factors may be too great for a node."""
    return _ends(_plus(_terms(a), _terms(b), -1))


def greatest(size: Size, limits: Mapping[Node, Size]) -> Size | None:
    """`size` with every part that is in `limits` at its limit.

    None unless it grows with each, and its factors fit.
    """
    total: _Polynomial = {}
    for monomial, coefficient in _terms(size).items():
        factor: _Polynomial = {(): coefficient}
        for atom in monomial:
            factor = _times(factor, _terms(limits[atom]) if atom in limits else {(atom,): 1})
        total = _plus(total, factor, 1)
        moves = any(atom in limits for atom in monomial)
        if moves and (coefficient < 0 or any(bounds(atom)[0] < 0 for atom in monomial)):
            return None
    fits = all(INT64.lowest <= factor <= INT64.highest for factor in total.values())
    return _build(total, size) if fits else None


_SIGNS = {Op.ADD: " + ", Op.SUB: " - ", _MUL: " * ", Op.IDIV: " // ", Op.MOD: " % "}


def text(size: Size) -> str:
    """A size as people write it."""
    if isinstance(size, int):
        return str(size)
    if size.op is _CONST or size.op is Op.VAR:
        return str(size.attr[0])
    parts = [text(child) for child in size.src]
    if size.op not in _SIGNS:
        return f"{size.op.name.lower()}({', '.join(parts)})"
    return f"({_SIGNS[size.op].join(parts)})"


def _ends(terms: _Polynomial) -> tuple[int, int]:
    plain, shifted = _spread(terms, bounds), _spread(_shift(terms), _width)
    return max(plain[0], shifted[0]), min(plain[1], shifted[1])


def _spread(terms: _Polynomial, ends: Callable[[Node], tuple[int, int]]) -> tuple[int, int]:
    """Bounds of a sum, each monomial taken by itself."""
    low = high = 0
    for monomial, coefficient in terms.items():
        values = [coefficient]
        for atom in monomial:
            values = [x * y for x in values for y in ends(atom)]
        low, high = low + min(values), high + max(values)
    return low, high


def _shift(terms: _Polynomial) -> _Polynomial:
    """The polynomial in (atom - its least value): it shows n*m - n >= 0 for m >= 1."""
    shifted: _Polynomial = {}
    for monomial, coefficient in terms.items():
        factor: _Polynomial = {(): coefficient}
        for atom in monomial:
            factor = _times(factor, _plus({(atom,): 1}, _terms(bounds(atom)[0]), 1))
        shifted = _plus(shifted, factor, 1)
    return shifted


def _width(atom: Node) -> tuple[int, int]:
    low, high = bounds(atom)
    return 0, high - low


def _require_positive(a: Size, b: Size, sign: str) -> None:
    if interval(a)[0] < 0 or interval(b)[0] < 1:
        raise ShapeError(
            f"symbolic size {text(a)} {sign} {text(b)}: needs a non-negative and a positive "
            "operand, narrow the range of the variable"
        )


# --- polynomials ----------------------------------------------------------------------------------


def _terms(size: Size) -> _Polynomial:
    """Coefficient by monomial; no zero coefficients."""
    if isinstance(size, int):
        return {(): size} if size else {}
    return _expand(size)


@lru_cache(maxsize=_REMEMBERED)
def _expand(node: Node) -> _Polynomial:
    if node.op is _CONST:
        return _terms(int(node.value))
    if node.op is _NEG:
        return _plus({}, _terms(node.src[0]), -1)
    if node.op in (_ADD, _SUB):
        return _plus(_terms(node.src[0]), _terms(node.src[1]), 1 if node.op is _ADD else -1)
    if node.op is _MUL:
        return _times(_terms(node.src[0]), _terms(node.src[1]))
    return {(node,): 1}


def _plus(a: _Polynomial, b: _Polynomial, factor: int) -> _Polynomial:
    total = dict(a)
    for monomial, coefficient in b.items():
        total[monomial] = total.get(monomial, 0) + factor * coefficient
    return {monomial: value for monomial, value in total.items() if value}


def _times(a: _Polynomial, b: _Polynomial) -> _Polynomial:
    total: _Polynomial = {}
    for left, x in a.items():
        for right, y in b.items():
            monomial = tuple(sorted(left + right, key=_key))
            total[monomial] = total.get(monomial, 0) + x * y
    return {monomial: value for monomial, value in total.items() if value}


def _without(monomial: _Monomial, atoms: _Monomial) -> _Monomial | None:
    rest = list(monomial)
    for atom in atoms:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


@lru_cache(maxsize=_REMEMBERED)
def _key(node: Node) -> str:
    """Structure as text: an order that does not depend on the process."""
    fields = ",".join([str(value) for value in node.attr])
    children = ",".join([_key(child) for child in node.src])
    if len(children) > _LONGEST_KEY:  # computed offsets share what, written out, has no end
        children = sha256(children.encode()).hexdigest()
    return f"{node.op.name}[{fields}]({children})"


def _build(terms: _Polynomial, *like: Size) -> Size:
    """The canonical node of a polynomial: monomials in order of their text, the constant last."""
    if not terms.keys() - {()}:
        return terms.get((), 0)
    dtype = next(size.dtype for size in like if isinstance(size, Node))
    ordered = sorted(
        (monomial for monomial in terms if monomial), key=lambda m: [_key(a) for a in m]
    )
    total: Node | None = None
    for monomial in ordered:
        term = reduce(lambda x, y: intern(_MUL, dtype, (x, y)), monomial)
        if terms[monomial] != 1:
            term = intern(_MUL, dtype, (term, _number(dtype, terms[monomial])))
        total = term if total is None else intern(_ADD, dtype, (total, term))
    assert total is not None
    if () in terms:
        total = intern(_ADD, dtype, (total, _number(dtype, terms[()])))
    return total


def _number(dtype: DType, value: int) -> Node:
    if not dtype.lowest <= value <= dtype.highest:
        bits = dtype.bits
        raise ShapeError(f"symbolic size: the factor {value} in it does not fit in {bits} bits")
    return const(dtype, value)


def _pair(a: Size, b: Size) -> tuple[DType, tuple[Node, Node]]:
    dtype = next(size.dtype for size in (a, b) if isinstance(size, Node))
    left, right = [size if isinstance(size, Node) else _number(dtype, size) for size in (a, b)]
    return dtype, (left, right)


def _ordered(a: Size, b: Size) -> tuple[Size, Size]:
    """MAX and MIN of sizes commute: one spelling."""
    return (a, b) if _sort_key(a) <= _sort_key(b) else (b, a)


def _sort_key(size: Size) -> str:
    return str(size) if isinstance(size, int) else _key(size)
