"""Targets without work-groups: products of matrices in register tiles, their columns in panels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.ir import AxisKind
from compiler.kernel.accesses import Access
from compiler.kernel.axis import Axis
from compiler.kernel.heuristics.draft import Draft, divisors, size_of, vectors_of
from compiler.kernel.heuristics.product import Product, find_product
from compiler.kernel.heuristics.staging import is_worth_staging, panel_columns
from compiler.kernel.heuristics.vectors import moves, worth_in_lanes
from compiler.kernel.opts import PadTo, Upcast

_GUARDED = 0.97  # of the speed is left where an axis is padded: reads and writes have guards


@dataclass(frozen=True, slots=True)
class _Tile:
    """`columns` lie in vectors, `rows` are broadcast; neither need divide the axis."""

    column: Axis
    columns: int
    row: Axis
    rows: int


def tile(draft: Draft) -> Draft:
    """UPCAST columns (as vectors) and rows of a product, so that each load is used many times."""
    product = find_product(draft) if draft.has_tiles else None
    if product is None:
        return draft
    tiles = [
        *_tiles(draft, product, product.left, product.right),
        *_tiles(draft, product, product.right, product.left),
    ]
    worth = {each: _worth(draft, each) for each in tiles}
    ranked = sorted(tiles, key=worth.__getitem__, reverse=True)
    if ranked and worth[ranked[0]].products < worth_in_lanes(draft, product):
        return draft  # few columns, and both sides contiguous along the sum: for `vectorize`
    for best in ranked:
        columns = _upcast(draft, best.column, best.columns)
        tiled = None if columns is None else _upcast(columns, best.row, best.rows)
        if tiled is not None:
            return tiled
    return draft


def _upcast(draft: Draft, axis: Axis, amount: int) -> Draft | None:
    """UPCAST, after PADTO where the axis is no multiple; None where that may not be."""
    if amount == 1:
        return draft
    padded = draft if size_of(axis) % amount == 0 else draft.attempt(PadTo(axis.name, amount))
    return None if padded is None else padded.attempt(Upcast(axis.name, amount))


def _tiles(
    draft: Draft, product: Product, vectors: Sequence[Access], scalars: Sequence[Access]
) -> Iterator[_Tile]:
    """Tiles whose columns only move `vectors` and whose rows only move `scalars`.

    Columns are contiguous where they are read, or will be in a panel, which has the masks then.
    Besides the accumulators, registers hold a step's vectors and one scalar.
    """
    loops = draft.loops(AxisKind.GLOBAL)
    rows = [r for r in loops if moves(draft, scalars, r) and not moves(draft, vectors, r)]
    columns = [c for c in loops if moves(draft, vectors, c) and not moves(draft, scalars, c)]
    widest = draft.options.tile_columns
    is_staged = product.is_plain and is_worth_staging(draft, vectors[0])
    if is_staged:
        widest = min(widest, panel_columns(draft, vectors[0]))
    else:
        columns = [column for column in columns if _contiguous(draft, vectors, column)]
    for column in columns:
        widths = divisors(size_of(column), widest)
        if is_staged or not any(column.origin in access.masked for access in vectors):
            widths = sorted({*widths, *_beyond(draft, size_of(column), widest)})
        for row in rows:
            for width in widths:
                step = vectors_of(draft, width) + 1
                most = (draft.options.tile_registers - step) // (step - 1)
                for height in range(1, min(most, draft.options.tile_rows, size_of(row)) + 1):
                    yield _Tile(column, width, row, height)


def _beyond(draft: Draft, size: int, most: int) -> list[int]:
    """Whole vectors, of which the last may reach beyond the end.

    Not for a masked access: every lane would have a condition of its own, ten times as slow.
    """
    lanes = draft.options.vector_lanes
    return [width for width in range(lanes, most + 1, lanes) if width < size + lanes]


@dataclass(frozen=True, slots=True, order=True)
class _Worth:
    """What speaks for a tile, the first first."""

    is_stored: bool  # results are vectors in memory
    products: float  # per load, less what is computed for nothing
    is_exact: bool
    columns: int
    rows: int


def _worth(draft: Draft, each: _Tile) -> _Worth:
    vectors = vectors_of(draft, each.columns)
    per_load = each.rows * vectors / (each.rows + vectors)
    lanes = -(-size_of(each.column) // each.columns) * vectors * draft.options.vector_lanes
    lines = -(-size_of(each.row) // each.rows) * each.rows
    useful = size_of(each.column) / lanes * size_of(each.row) / lines
    padded = (size_of(each.column) % each.columns > 0) + (size_of(each.row) % each.rows > 0)
    stores = [access for access in draft.accesses if access.is_store]
    is_stored = _contiguous(draft, stores, each.column)
    products = useful * per_load * _GUARDED**padded
    return _Worth(is_stored, products, padded == 0, each.columns, each.rows)


def _contiguous(draft: Draft, accesses: Sequence[Access], axis: Axis) -> bool:
    strides = [draft.stride(access, axis) for access in accesses]
    return 1 in strides and all(stride in (0, 1) for stride in strides)
