"""A second opinion on places: is every access of a PROGRAM inside of its buffer?

It knows nothing of the pass that guards them. An access is proven by the interval of its offset,
or from the conditions under which it happens: branches around it, its own gate, and what chooses
its offset. All of them, and the ends of loops, are inequalities between polynomials of indices; a
sum of multiples of them that leaves something above 0, whatever the indices are, is a proof.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from compiler.ir import BOOL, INT64, Node, Op, bounds, intern, substitute

Monomial = tuple[Node, ...]  # sorted by first appearance; () is the constant term
Polynomial = Mapping[Monomial, Fraction]
Known = tuple[Node, bool]  # a condition, and whether it holds
_MOST_STEPS = 4  # multiples of inequalities that a proof may add up
_SUMS = (Op.ADD, Op.SUB, Op.MUL)
_INDICES = frozenset((Op.RANGE, Op.SPECIAL))


@dataclass(frozen=True)
class Access:
    """`count` elements from `offset + first` of an array of `size`, where all `conditions` hold.

    Of a pixel that is written there are two: its column in the row and its row in the image.
    """

    node: Node  # the READ or WRITE
    offset: Node
    first: int
    count: int
    size: int | Node
    conditions: tuple[Node, ...]  # of vectors: lane `first` of each


def accesses(program: Node) -> Iterator[Access]:
    """Every access of a PROGRAM; one with a gate for each lane lane by lane.

    Reads of images are none: outside of an image they are 0.
    """
    inside: list[Node] = []
    for node in program.src:
        if node.op is Op.IF:
            inside.append(node.src[0])
        elif node.op is Op.ENDIF:
            inside.pop()
        elif node.op in (Op.READ, Op.WRITE):
            yield from _accesses(node, tuple(inside))


def _accesses(node: Node, inside: tuple[Node, ...]) -> Iterator[Access]:
    array, offset = _array(node.src[0]), node.src[1]
    gates = node.src[2:] if node.op is Op.READ else node.src[3:]
    count = node.dtype.count if node.op is Op.READ else node.src[2].dtype.count
    conditions = (*inside, *gates)
    if array.op is Op.IMAGE:
        _, size, width = array.attr
        places = offset.src * (3 - len(offset.src))  # of a SPLAT both are one
        for place, end in zip(places, (width, size // (4 * width)), strict=True):
            if node.op is Op.WRITE:
                yield Access(node, place, 0, 1, end, conditions)
    elif gates and gates[0].dtype.count > 1:
        for lane in range(count):
            yield Access(node, offset, lane, 1, array.attr[1], conditions)
    else:
        yield Access(node, offset, 0, count, array.attr[1], conditions)


def _array(node: Node) -> Node:
    while node.op is Op.AFTER:
        node = node.src[0]
    return node


def is_bounded(access: Access) -> bool:
    """Whether the interval of the offset alone lies inside, whatever the conditions are."""
    low, high = [end + access.first for end in bounds(access.offset)]
    return low >= 0 and isinstance(access.size, int) and high + access.count <= access.size


def is_proven(access: Access) -> bool:
    """Whether the access cannot be outside, whatever the indices, variables and data are."""
    known = [(condition, True) for condition in access.conditions]
    return is_bounded(access) or _under(access, access.offset, known)


def _under(access: Access, offset: Node, known: Sequence[Known]) -> bool:
    """Whether both ends hold where all that is known does, whatever the offset chooses."""
    if _is_inside(access, offset, known):
        return True
    choice = _choice(offset)
    if choice is None:
        return False
    condition, *values = choice.src
    for value, truth in zip(values, (True, False), strict=True):
        chosen = {choice: value}
        now = [(substitute(each, chosen), truth) for each, truth in (*known, (condition, truth))]
        if not _under(access, substitute(offset, chosen), now):
            return False
    return True


def _is_inside(access: Access, offset: Node, known: Sequence[Known]) -> bool:
    start = _plus(_polynomial(offset), _number(access.first))
    end = _polynomial(access.size) if isinstance(access.size, Node) else _number(access.size)
    room = _plus(end, _plus(start, _number(access.count)), -1)
    facts = [fact for each, truth in known for fact in _facts(each, truth, access.first)]
    if any(_least(_plus({}, fact, -1)) > 0 for fact in facts):
        return True  # what is known never holds
    facts += _ends(start, end, *facts)
    return _holds(start, facts, _MOST_STEPS) and _holds(room, facts, _MOST_STEPS)


def _choice(offset: Node) -> Node | None:
    """A WHERE that the offset is a sum or product of; others are numbers that were computed."""
    if offset.op is Op.WHERE:
        return offset
    parts = offset.src if offset.op in (*_SUMS, Op.CAST) else ()
    return next((found for part in parts if (found := _choice(part)) is not None), None)


# --- what is known ---


def _facts(condition: Node, truth: bool, lane: int) -> list[Polynomial]:
    """Polynomials that are 0 or more where one lane of a condition is as it is said to be."""
    op, src = condition.op, condition.src
    if op is Op.NOT:
        return _facts(src[0], not truth, lane)
    if op is Op.AND and truth:
        return [*_facts(src[0], truth, lane), *_facts(src[1], truth, lane)]
    if op is Op.STACK or op is Op.SPLAT:
        return _facts(src[lane if op is Op.STACK else 0], truth, 0)
    if op is Op.CONST:
        return [] if bool(condition.value) is truth else [_number(-1)]
    if op not in (Op.LT, Op.LE, Op.EQ) or not src[0].dtype.is_int:
        return []
    a, b = [_polynomial(value, lane) for value in src]
    if op is Op.EQ:
        return [_plus(a, b, -1), _plus(b, a, -1)] if truth else []
    less, more = (a, b) if truth else (b, a)
    return [_plus(_plus(more, less, -1), _number(int((op is Op.LT) is truth)), -1)]


def _ends(*polynomials: Polynomial) -> list[Polynomial]:
    """The greatest values of indices and other atoms, and what divisions leave."""
    found: list[Polynomial] = []
    for atom in dict.fromkeys([atom for p in polynomials for part in p for atom in part]):
        greatest = _number(bounds(atom)[1])
        if atom.op in _INDICES and not atom.src[0].is_const:
            greatest = _plus(_polynomial(atom.src[0]), _number(1), -1)
        found.append(_plus(greatest, {(atom,): Fraction(1)}, -1))
        if atom.op in (Op.IDIV, Op.MOD) and atom.src[1].is_const and bounds(atom.src[0])[0] >= 0:
            found += _of_division(atom)
    return found


def _of_division(atom: Node) -> list[Polynomial]:
    """c * (x / c) <= x < c * (x / c) + c, and x % c = x - c * (x / c) <= x."""
    x, c = _polynomial(atom.src[0]), int(atom.src[1].value)
    if atom.op is Op.MOD:
        return [_plus(x, {(atom,): Fraction(1)}, -1)]
    down = _plus(x, {(atom,): Fraction(c)}, -1)
    return [down, _plus(_number(c - 1), down, -1)]


# --- polynomials ---


def _number(value: int) -> Polynomial:
    return {(): Fraction(value)} if value else {}


def _plus(a: Polynomial, b: Polynomial, factor: int | Fraction = 1) -> Polynomial:
    total = dict(a)
    for monomial, value in b.items():
        total[monomial] = total.get(monomial, Fraction(0)) + factor * value
    return {monomial: value for monomial, value in total.items() if value}


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for left, x in a.items():
        for right, y in b.items():
            monomial = tuple(sorted((*left, *right), key=_place_of))
            total = _plus(total, {monomial: x * y})
    return total


_places: dict[Node, int] = {}  # of atoms, in order of appearance


def _place_of(atom: Node) -> int:
    return _places.setdefault(atom, len(_places))


@lru_cache(maxsize=1 << 14)
def _polynomial(node: Node, lane: int = 0) -> Polynomial:
    """A lane of an integer value over the integers; what is no sum or product is an atom."""
    if node.op is Op.STACK:
        return _polynomial(node.src[lane])
    if node.op is Op.SPLAT:
        return _polynomial(node.src[0])
    if node.is_const:
        return _number(int(node.value))
    if not _is_exact(node):
        return {(node,): Fraction(1)}
    if node.op is Op.CAST:
        return _polynomial(node.src[0], lane)
    if node.op in _SUMS:
        a, b = [_polynomial(child, lane) for child in node.src]
        return _times(a, b) if node.op is Op.MUL else _plus(a, b, 1 if node.op is Op.ADD else -1)
    return {(_wide(node),): Fraction(1)}


@lru_cache(maxsize=1 << 14)
def _wide(node: Node) -> Node:
    """The same number in one dtype, so that it is one atom wherever it is computed."""
    is_counted = node.dtype.is_int or node.dtype is BOOL
    if node.op is Op.READ or not is_counted or not _is_exact(node):
        return node
    src = tuple([_wide(child) for child in node.src])
    dtype = INT64 if node.dtype.is_int else BOOL
    return src[0] if node.op is Op.CAST else intern(node.op, dtype, src, node.attr)


def _least(polynomial: Polynomial) -> Fraction:
    """The least value by intervals, each monomial by itself."""
    total = Fraction(0)
    for monomial, factor in polynomial.items():
        low, high = 1, 1
        for atom in monomial:
            ends = [x * y for x in (low, high) for y in bounds(atom)]
            low, high = min(ends), max(ends)
        total += min(factor * low, factor * high)
    return total


def _holds(goal: Polynomial, facts: list[Polynomial], steps: int) -> bool:
    """Whether goal >= 0, by taking multiples of facts away from it until intervals say so."""
    if _least(goal) >= 0:
        return True
    if steps == 0:
        return False
    for monomial, value in goal.items():
        for fact in facts:
            for factor, part in _multiples(monomial, value, fact):
                if _holds(_plus(goal, part, -factor), facts, steps - 1):
                    return True
    return False


def _multiples(
    monomial: Monomial, value: Fraction, fact: Polynomial
) -> Iterator[tuple[Fraction, Polynomial]]:
    """The multiples of a fact that cancel a term of the goal: by what is never below 0."""
    for inner, known in fact.items():
        if not inner or value / known <= 0:
            continue
        rest = list(monomial)
        if all(rest.count(atom) >= inner.count(atom) for atom in inner):
            for atom in inner:
                rest.remove(atom)
            if all(bounds(atom)[0] >= 0 for atom in rest):
                yield value / known, _times(fact, {tuple(rest): Fraction(1)})


def _is_exact(node: Node) -> bool:
    """Whether a sum, product or cast of an offset cannot leave its dtype."""
    if not node.dtype.is_int or node.op not in (*_SUMS, Op.CAST):
        return True
    if node.op is Op.CAST:
        source = node.src[0].dtype
        return source.is_int and _fits(bounds(node.src[0]), node)
    (a, b), (c, d) = [bounds(child) for child in node.src]
    ends = {
        Op.ADD: (a + c, b + d),
        Op.SUB: (a - d, b - c),
        Op.MUL: (min(a * c, a * d, b * c, b * d), max(a * c, a * d, b * c, b * d)),
    }[node.op]
    return _fits(ends, node)


def _fits(ends: tuple[int, int], node: Node) -> bool:
    return int(node.dtype.lowest) <= ends[0] and ends[1] <= int(node.dtype.highest)
