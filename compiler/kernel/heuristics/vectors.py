"""Targets without work-groups: register tiles for products, vectors for everything else.

What nothing here upcasts is left to the loop vectorizer of the target's own compiler.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.ir import AxisKind
from compiler.kernel.accesses import Access
from compiler.kernel.axis import Axis
from compiler.kernel.heuristics.draft import Draft, divisors, size_of
from compiler.kernel.heuristics.product import find_product
from compiler.kernel.kernel import reduces
from compiler.kernel.opts import Unroll, Upcast

_CHAINS = 4  # independent sums that keep a floating point adder busy, or vectors of them
_FEWEST_LANES = 4  # below, sums in lanes cost more than they save
_SQUARE = 8  # lines of a transposition that are read and written together


@dataclass(frozen=True, slots=True)
class _Tile:
    column: Axis
    columns: int
    row: Axis
    rows: int


def tile(draft: Draft) -> Draft:
    """UPCAST columns (as vectors) and rows of a product, so that each load is used many times."""
    product = None if draft.has_work_groups else find_product(draft)
    if product is None:
        return draft
    tiles = [
        *_tiles(draft, product.left, product.right),
        *_tiles(draft, product.right, product.left),
    ]
    for best in sorted(tiles, key=lambda each: _worth(draft, each), reverse=True):
        upcast = draft.attempt(Upcast(best.column.name, best.columns))
        if upcast is not None:
            return upcast.or_else(Upcast(best.row.name, best.rows))
    return draft


def _tiles(draft: Draft, vectors: Sequence[Access], scalars: Sequence[Access]) -> list[_Tile]:
    """Tiles whose columns are contiguous in `vectors` and whose rows only move `scalars`."""
    loops = draft.loops(AxisKind.GLOBAL)
    columns = [c for c in loops if _contiguous(draft, vectors, c) and _fixed(draft, scalars, c)]
    rows = [r for r in loops if _fixed(draft, vectors, r) and not _fixed(draft, scalars, r)]
    options = draft.options
    return [
        _Tile(column, width, row, height)
        for column in columns
        for row in rows
        for width in divisors(size_of(column), options.tile_columns)
        for height in divisors(size_of(row), options.tile_rows)
        if height * _vectors(draft, width) <= options.tile_registers
    ]


def _worth(draft: Draft, each: _Tile) -> tuple[float, int, int]:
    """Products per load of a step, counting a vector that is not full as what it holds."""
    vectors = _vectors(draft, each.columns)
    full = each.columns / (vectors * draft.options.vector_lanes)
    return full * each.rows * vectors / (each.rows + vectors), each.columns, each.rows


def _vectors(draft: Draft, lanes: int) -> int:
    """How many vectors hold these lanes: full ones, then powers of two."""
    full, rest = divmod(lanes, draft.options.vector_lanes)
    return full + rest.bit_count()


def _contiguous(draft: Draft, accesses: Sequence[Access], axis: Axis) -> bool:
    strides = [draft.stride(access, axis) for access in accesses]
    return 1 in strides and all(stride in (0, 1) for stride in strides)


def _fixed(draft: Draft, accesses: Sequence[Access], axis: Axis) -> bool:
    return all(draft.stride(access, axis) == 0 for access in accesses)


def vectorize(draft: Draft) -> Draft:
    """UPCAST or UNROLL the axis along which most accesses are contiguous by the vector's lanes."""
    if draft.has_work_groups or draft.has_lanes:
        return draft
    ranked = [
        (_score(draft, axis), not axis.is_reduce, place, axis)
        for place, axis in enumerate(draft.kernel.axes)
        if axis in draft.loops(AxisKind.GLOBAL, AxisKind.REDUCE) and _lanes(draft, axis)
    ]
    worthy = [entry for entry in ranked if entry[0] > 0]
    if not worthy:
        return draft
    axis = max(worthy, key=lambda entry: entry[:3])[3]
    if not axis.is_reduce:
        return draft.or_else(Upcast(axis.name, _lanes(draft, axis)))
    return _chains(draft.or_else(Unroll(axis.name, _lanes(draft, axis))))


def _score(draft: Draft, axis: Axis) -> int:
    """Contiguous accesses less scattered ones."""
    contiguous = scattered = 0
    for access in draft.accesses:
        stride = draft.stride(access, axis)
        if stride == 1 and axis.origin not in access.masked:
            contiguous += 1
        elif stride != 0:
            scattered += 1
    return contiguous - scattered


def _lanes(draft: Draft, axis: Axis) -> int:
    """The divisor of the axis that takes the fewest vectors per element; 0 if there is none.

    Outputs that are sums take several vectors: then as many sums are under way.
    """
    lanes = draft.options.vector_lanes
    is_sum = not axis.is_reduce and bool(reduces(draft.kernel))
    amounts = divisors(size_of(axis), lanes * _CHAINS if is_sum else lanes)
    amounts = [n for n in amounts if n <= draft.target.capabilities.max_upcast]
    if axis.is_reduce:
        amounts = [amount for amount in amounts if amount >= _FEWEST_LANES]
    return min(amounts, key=lambda amount: (_vectors(draft, amount) / amount, -amount), default=0)


def _chains(draft: Draft) -> Draft:
    """UPCAST output axes so that several sums are under way, two of a product: loads are reused."""
    axes = draft.loops(AxisKind.GLOBAL)
    for axis in axes[-2:] if find_product(draft) else axes[-1:]:
        amounts = divisors(size_of(axis), _CHAINS)
        if amounts:
            draft = draft.or_else(Upcast(axis.name, amounts[-1]))
    return draft


def transposition(draft: Draft) -> Draft:
    """UPCAST two axes that are each contiguous in some access: whole lines are read and written."""
    if draft.has_work_groups or draft.has_lanes or reduces(draft.kernel):
        return draft
    lines = [
        axis
        for axis in draft.loops(AxisKind.GLOBAL)
        if any(draft.stride(access, axis) == 1 for access in draft.accesses)
    ]
    amounts = [max(divisors(size_of(axis), _SQUARE), default=1) for axis in lines]
    if len(lines) != 2 or min(amounts) < _FEWEST_LANES:
        return draft
    for axis, amount in zip(lines, amounts, strict=True):
        draft = draft.or_else(Upcast(axis.name, amount))
    return draft
