"""Elements put at places of their own along an axis: the inverse of take_along_axis."""

from collections.abc import Mapping

from compiler.errors import IndexingError, ShapeError
from compiler.frontend.functions.update import update_along
from compiler.frontend.graph import Value
from compiler.frontend.operands import Operand, as_filling, as_places, broadcast_to
from compiler.frontend.shapes import as_axis, broadcast_indices
from compiler.ir import Op

_REDUCTIONS: Mapping[str | None, Op | None] = {
    None: None,
    "add": Op.ADD,
    "multiply": Op.MUL,
    "maximum": Op.MAX,
    "minimum": Op.MIN,
}


def put_along_axis(
    x: Value, indices: Operand, values: Operand, axis: int = -1, *, reduce: str | None = None
) -> Value:
    """x with values at places along an axis, or `reduce`d with them: add, multiply, maximum, ...

    Without `reduce`, of equal places the last one wins. What a tensor puts outside the axis is left
    out; other places there are an IndexError.
    """
    along = as_axis(axis, x.ndim)
    places = as_places(indices, x.shape[along], along, x.device)
    given = as_filling(values, x.dtype, x.device)
    if not places.dtype.is_int:
        raise IndexingError(f"index of {places.dtype}: use integers")
    if places.ndim != x.ndim:
        raise ShapeError(f"put_along_axis in {x.shape} at {places.shape}: differ in dimensions")
    if not isinstance(reduce, str | None) or reduce not in _REDUCTIONS:
        raise ShapeError(f"reduce {reduce!r}: use one of {', '.join(filter(None, _REDUCTIONS))}")
    shape = tuple([places.shape[i] if i == along else n for i, n in enumerate(x.shape)])
    if broadcast_indices(places.shape, shape) != shape:
        raise IndexingError(
            f"put_along_axis in {x.shape} at {places.shape}: differ outside axis {along}"
        )
    given = broadcast_to(given, shape)
    return update_along(x, broadcast_to(places, shape), given, along, _REDUCTIONS[reduce])
