"""Targets without work-groups: products of matrices in register tiles, their columns in panels."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from compiler.ir import AxisKind
from compiler.kernel.accesses import Access
from compiler.kernel.axis import Axis
from compiler.kernel.heuristics.draft import Draft, divisors, size_of, vectors_of
from compiler.kernel.heuristics.product import Product, find_product
from compiler.kernel.heuristics.staging import is_worth_staging, panel_columns
from compiler.kernel.heuristics.vectors import moves, worth_in_lanes
from compiler.kernel.opts import PadTo, Upcast

_GUARDED = 0.97  # of the speed is left where an axis is padded: reads and writes have guards
_LEFT = (1.0, _GUARDED, _GUARDED**2)  # by the number of axes that are


# What speaks for a tile, the first first: whether results are vectors in memory; products per load,
# less what is computed for nothing; whether neither axis is padded; columns and rows. A plain
# tuple: a kernel has hundreds.
_Worth: TypeAlias = tuple[bool, float, bool, int, int]
_PRODUCTS = 1
# What the tiles of two axes are worth, the axis whose columns lie in vectors, and that whose rows
# are broadcast; neither need be divided by a tile.
_Tiles: TypeAlias = tuple[list[_Worth], Axis, Axis]


def tile(draft: Draft) -> Draft:
    """UPCAST columns (as vectors) and rows of a product, so that each load is used many times."""
    product = find_product(draft) if draft.has_tiles else None
    if product is None:
        return draft
    tiles = [
        *_tiles(draft, product, product.left, product.right),
        *_tiles(draft, product, product.right, product.left),
    ]
    if tiles and max(map(_best_of, tiles))[_PRODUCTS] < worth_in_lanes(draft, product):
        return draft  # few columns, and both sides contiguous along the sum: for `vectorize`
    for (*_, width, height), column, row in _best_first(tiles):
        columns = _upcast(draft, column, width)
        tiled = None if columns is None else _upcast(columns, row, height)
        if tiled is not None:
            return tiled
    return draft


def _best_first(tiles: list[_Tiles]) -> Iterator[tuple[_Worth, Axis, Axis]]:
    """Not sorted: mostly the first will do."""
    while tiles:
        best = max(tiles, key=_best_of)
        worths, column, row = best
        yield (worth := max(worths)), column, row
        worths.remove(worth)
        if not worths:
            tiles.remove(best)


def _best_of(tiles: _Tiles) -> _Worth:
    return max(tiles[0])


def _upcast(draft: Draft, axis: Axis, amount: int) -> Draft | None:
    """UPCAST, after PADTO where the axis is no multiple; None where that may not be."""
    if amount == 1:
        return draft
    padded = draft if size_of(axis) % amount == 0 else draft.attempt(PadTo(axis.name, amount))
    return None if padded is None else padded.attempt(Upcast(axis.name, amount))


def _tiles(
    draft: Draft, product: Product, vectors: Sequence[Access], scalars: Sequence[Access]
) -> Iterator[_Tiles]:
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
            widths = tuple(sorted({*widths, *_beyond(draft, size_of(column), widest)}))
        for row in rows:
            worths = _sizes(draft, column, widths, size_of(row))
            if worths:
                yield worths, column, row


def _beyond(draft: Draft, size: int, most: int) -> list[int]:
    """Whole vectors, of which the last may reach beyond the end.

    Not for a masked access: every lane would have a condition of its own, ten times as slow.
    """
    lanes = draft.options.vector_lanes
    return list(range(lanes, min(most + 1, size + lanes), lanes))


def _sizes(draft: Draft, column: Axis, widths: Sequence[int], lines: int) -> list[_Worth]:
    """The tiles of these widths that registers hold, over a row axis of `lines`."""
    found: list[_Worth] = []
    size, options = size_of(column), draft.options
    is_stored = _contiguous(draft, [each for each in draft.accesses if each.is_store], column)
    tallest = min(options.tile_rows, lines)
    covered = [-(-lines // height) * height for height in range(1, tallest + 1)]
    for width in widths:
        vectors = vectors_of(draft, width)
        lanes = -(-size // width) * vectors * options.vector_lanes
        most = (options.tile_registers - vectors - 1) // vectors
        useful, is_cut = size / lanes * lines, size % width > 0
        for height, rows in enumerate(covered[: max(0, most)], start=1):
            padded = is_cut + (rows > lines)
            products = useful / rows * (height * vectors / (height + vectors)) * _LEFT[padded]
            found.append((is_stored, products, padded == 0, width, height))
    return found


def _contiguous(draft: Draft, accesses: Sequence[Access], axis: Axis) -> bool:
    strides = [draft.stride(access, axis) for access in accesses]
    return 1 in strides and all(stride in (0, 1) for stride in strides)
