"""Where the pixel with a given number lies in an image, and which gates its border stands for.

A pixel outside of an image reads as 0, as does an element whose gate is false. So a condition may
be dropped where its being false puts the pixel outside, whatever else holds: exactly then.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from compiler.ir import INT32, PLACE, Interval, Node, Op, height
from compiler.rules import Builder, Terms, build_linear, exact_interval, exact_linear

_AND, _LT, _LE, _SPLAT, _STACK = Op.AND, Op.LT, Op.LE, Op.SPLAT, Op.STACK
_INT32 = (int(INT32.lowest), int(INT32.highest))


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a pixel, right where all conditions hold. `kept` are those still to be asked."""

    node: Node  # int32x2
    kept: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class _Limit:
    """What one condition says: the sum of `terms` is at least `low`, or at most `high`."""

    terms: Terms
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class _Coordinate:
    """A sum that is from 0 up to `limit` inside of the image, and not outside."""

    terms: Terms
    constant: int
    limit: int


def conditions(gate: Node | None) -> tuple[Node, ...]:
    """What has to hold for a gate to, in order."""
    if gate is None:
        return ()
    if gate.op is _AND:
        return (*conditions(gate.src[0]), *conditions(gate.src[1]))
    return conditions(gate.src[0]) if gate.op is _SPLAT else (gate,)


def meaning(gate: Node | None) -> frozenset[object]:
    """Equal for gates that are known to hold alike: of integers, 4 <= 8x + 3 is 4 <= 8x."""
    found: list[object] = []
    for condition in conditions(gate):
        limit = _limit(condition)
        if limit is None:
            found.append(condition)
        else:
            found.append((frozenset(limit.terms.items()), limit.low, limit.high))
    return frozenset(found)


def find_place(
    b: Builder, image: Node, terms: Terms, constant: int, like: Node, gate: Node | None
) -> Place:
    """The place of pixel number terms + constant, computed in the dtype of `like`."""
    asked = conditions(gate)
    limits = [_limit(condition) for condition in asked]
    split = _split(image, terms, constant, [limit for limit in limits if limit is not None])
    if split is None:
        number = build_linear(b, like, terms.items(), constant)
        x, y = b.mod(number, image.attr[2]), b.idiv(number, image.attr[2])
        # both are outside where the number is: remainders of negative numbers are not positive
        split = (_Coordinate(terms, constant, image.attr[2] * height(image)),)
    else:
        x, y = [build_linear(b, like, each.terms.items(), each.constant) for each in split]
    node = b.build(_STACK, PLACE, (b.cast(x, INT32), b.cast(y, INT32)))
    if not all(_fits(exact_interval(each.terms, each.constant)) for each in split):
        return Place(node, asked)
    kept = [
        condition
        for condition, limit in zip(asked, limits, strict=True)
        if limit is None or not any(_is_outside_without(limit, each) for each in split)
    ]
    return Place(node, tuple(kept))


def _split(
    image: Node, terms: Terms, constant: int, limits: Sequence[_Limit]
) -> tuple[_Coordinate, ...] | None:
    """x and y without a division: whole rows, and a rest that stays inside of one."""
    width = image.attr[2]
    rows = {term: factor // width for term, factor in terms.items() if factor % width == 0}
    rest = {term: factor for term, factor in terms.items() if factor % width != 0}
    low, high = _interval(rest, _together(limits))
    row = (low + constant) // width
    if high + constant - row * width >= width:
        return None
    return (
        _Coordinate(rest, constant - row * width, width),
        _Coordinate(rows, row, height(image)),
    )


def _fits(interval: Interval) -> bool:
    return _INT32[0] <= interval[0] and interval[1] <= _INT32[1]


def _limit(condition: Node) -> _Limit | None:
    """What a comparison of a sum with a constant says."""
    if condition.op not in (_LT, _LE) or condition.dtype.count > 1:
        return None
    a, b = condition.src
    if not a.dtype.is_int or a.is_const == b.is_const:
        return None
    found = exact_linear(b if a.is_const else a)
    if found is None:
        return None
    terms, constant, _ = found
    step = gcd(*terms.values()) or 1
    terms = {term: factor // step for term, factor in terms.items()}
    strict = 1 if condition.op is _LT else 0
    if a.is_const:
        return _Limit(terms, -((constant - strict - int(a.value)) // step), None)
    return _Limit(terms, None, (int(b.value) - strict - constant) // step)


def _together(limits: Sequence[_Limit]) -> list[tuple[Terms, Interval]]:
    """The interval of each limited sum where all the limits hold."""
    found: dict[frozenset[tuple[Node, int]], tuple[Terms, Interval]] = {}
    for limit in limits:
        key = frozenset(limit.terms.items())
        terms, (low, high) = found.get(key, (limit.terms, exact_interval(limit.terms, 0)))
        low = low if limit.low is None else max(low, limit.low)
        high = high if limit.high is None else min(high, limit.high)
        found[key] = (terms, (low, high))
    return [pair for pair in found.values() if pair[1][0] <= pair[1][1]]


def _interval(terms: Terms, known: Iterable[tuple[Terms, Interval]]) -> Interval:
    """The interval of a sum of which some parts are known."""
    low = high = 0
    for part, interval in known:
        ratio = _ratio(terms, part)
        if ratio is not None:
            terms = _without(terms, part)
            ends = [ratio * end for end in interval]
            low, high = low + min(ends), high + max(ends)
    rest = exact_interval(terms, 0)
    return low + rest[0], high + rest[1]


def _ratio(terms: Mapping[Node, int], part: Mapping[Node, int]) -> int | None:
    """How often the sum `part` is in the sum `terms`, all of its terms alike."""
    if not part:
        return None
    first, factor = next(iter(part.items()))
    ratio, left = divmod(terms.get(first, 0), factor)
    if left or not ratio or any(terms.get(t, 0) != ratio * f for t, f in part.items()):
        return None
    return ratio


def _without(terms: Terms, part: Mapping[Node, int]) -> Terms:
    return {term: factor for term, factor in terms.items() if term not in part}


def _is_outside_without(limit: _Limit, coordinate: _Coordinate) -> bool:
    """Whether the coordinate is outside wherever the limit is broken."""
    ratio = _ratio(coordinate.terms, limit.terms)
    if ratio is None:
        return False
    rest = exact_interval(_without(coordinate.terms, limit.terms), coordinate.constant)
    if limit.low is not None:
        is_below, nearest = ratio > 0, ratio * (limit.low - 1)
    else:
        assert limit.high is not None, "a limit has an end"
        is_below, nearest = ratio < 0, ratio * (limit.high + 1)
    return nearest + rest[1] < 0 if is_below else nearest + rest[0] >= coordinate.limit
