"""Sorting and searching by the order of `ordering`; sorted elements have gradients."""

from compiler.errors import ShapeError
from compiler.frontend import dtypes, graph
from compiler.frontend.functions.elementwise import less, less_equal
from compiler.frontend.functions.gathering import along_axis, rows_at
from compiler.frontend.functions.ordering import argsort, search, sort_keys
from compiler.frontend.graph import Value
from compiler.frontend.operands import Operand, as_value, device_of
from compiler.frontend.shapes import as_axis, as_int
from compiler.ir import INT64


def sort(x: Value, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Value:
    """The elements in rising order along an axis."""
    order = argsort(x, axis, descending=descending, stable=stable)
    return along_axis(x, order, as_axis(axis, x.ndim))


def topk(x: Value, k: int, axis: int = -1, *, largest: bool = True) -> tuple[Value, Value]:
    """The k greatest (or smallest) elements in order, and their places; of equals the first."""
    along, count = as_axis(axis, x.ndim), as_int(k, "k")
    if not 0 <= count <= x.shape[along]:
        raise ShapeError(f"topk of {x.shape} along {along}: has no {count} elements")
    order = argsort(x, along, descending=largest)
    bounds = [(0, size) for size in x.shape]
    bounds[along] = (0, count)
    places = graph.shrink(order, tuple(bounds))
    return along_axis(x, places, along), places


def searchsorted(
    x1: Value, x2: Operand, *, side: str = "left", sorter: Operand | None = None
) -> Value:
    """Where elements of x2 would stand in the sorted x1: before equal ones, or after. int64."""
    if side not in ("left", "right"):
        raise ShapeError(f"searchsorted on side {side!r}: use 'left' or 'right'")
    if x1.ndim != 1:
        raise ShapeError(f"searchsorted in shape {x1.shape}: needs one dimension")
    wanted = as_value(x2, device_of([x1, x2]))
    dtype = dtypes.promote(x1.dtype, wanted.dtype)
    if sorter is not None:
        x1 = rows_at(x1, [(0, _as_places(sorter, x1))], x1.shape)
    table, keys = sort_keys(graph.cast(x1, dtype)), sort_keys(graph.cast(wanted, dtype))
    before = less if side == "left" else less_equal
    return graph.cast(search(table, keys, before), INT64)


def _as_places(sorter: Operand, x: Value) -> Value:
    places = as_value(sorter, x.device)
    if not places.dtype.is_int or places.shape != x.shape:
        raise ShapeError(
            f"sorter {places.dtype}{list(places.shape)}: needs integers like {x.shape}"
        )
    return places


__all__ = ["searchsorted", "sort", "topk"]
