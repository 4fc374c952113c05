"""Resizing along axes. Where each new element looks, and how it weighs what it finds, follows from
sizes alone and is worked out by the host; reading and weighing are kernels.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from compiler.errors import ModelError, ShapeError
from compiler.frontend import dtypes, graph
from compiler.frontend.functions.elementwise import add, logical_or, multiply, round_, where
from compiler.frontend.functions.indexing import take
from compiler.frontend.functions.movement import repeat
from compiler.frontend.graph import Value
from compiler.frontend.operands import broadcast_to
from compiler.frontend.shapes import as_shape
from compiler.frontend.storage import Array, from_array
from compiler.frontend.symbolic import fixed, is_symbolic


@dataclass(frozen=True, slots=True)
class Along:
    """How one axis changes: to `size` elements, `scale` times as many; `roi` is what is shown."""

    axis: int
    size: int
    scale: float
    roi: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Method:
    """ONNX's attributes of Resize."""

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    nearest: str = "round_prefer_floor"
    cubic: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False
    outside: float = 0.0  # what tf_crop_and_resize gives beyond the input


_MODES = ("nearest", "linear", "cubic")
_MOST = 1 << 31


def interpolate(
    x: Value,
    sizes: int | Sequence[int],
    mode: str = "linear",
    *,
    align_corners: bool = False,
    antialias: bool = False,
) -> Value:
    """The last axes resized to `sizes`: nearest, linear, cubic, between the middles of elements.

    With `align_corners` the first and the last element stay where they are. `antialias` takes
    all that a smaller result would skip.
    """
    wanted = as_shape(sizes, "sizes")
    before = x.shape[x.ndim - len(wanted) :]
    is_possible = all(0 < size < _MOST for size in wanted)  # places are worked out by the host
    if len(wanted) > x.ndim or not is_possible or 0 in before:
        raise ShapeError(f"interpolate {x.shape} to {wanted}: sizes 1 to {_MOST - 1}, of its axes")
    if mode not in _MODES:
        raise ShapeError(f"mode {mode!r}: use one of {', '.join(_MODES)}")
    coordinates = "align_corners" if align_corners else "half_pixel"
    method = Method(mode, coordinates, antialias=bool(antialias) and mode != "nearest")
    first = x.ndim - len(wanted)
    changes = [
        Along(first + i, new, new / fixed(old))
        for i, (new, old) in enumerate(zip(wanted, before, strict=True))
    ]
    return resize(x, changes, method)


def resize(x: Value, changes: Sequence[Along], method: Method) -> Value:
    """`x` with some of its axes resized, one after the other; rounded to x's dtype once."""
    result = x
    if method.mode != "nearest":
        result = graph.cast(x, dtypes.accumulator(dtypes.float_of(x.dtype)))
    beyond: Value | None = None
    for change in changes:
        if is_symbolic(change.size) and _keeps_all(change, x.shape[change.axis], method):
            continue
        change = replace(change, size=fixed(change.size))
        places = _places(change, fixed(x.shape[change.axis]), method.coordinates)
        result = _along(result, change, places, method)
        if method.coordinates == "tf_crop_and_resize":
            is_out = (places < 0) | (places > x.shape[change.axis] - 1)
            column = from_array(is_out, x.device)
            column = graph.reshape(column, (change.size, *([1] * (x.ndim - change.axis - 1))))
            beyond = column if beyond is None else logical_or(beyond, column)
    if result.dtype is not x.dtype:
        whole = round_(result) if x.dtype.is_int else result
        result = graph.contiguous(graph.cast(whole, x.dtype))
    if beyond is None:
        return result
    filler = graph.full(method.outside, result.dtype, result.shape, x.device)
    return where(broadcast_to(beyond, result.shape), filler, result)


def _keeps_all(change: Along, length: int, method: Method) -> bool:
    is_crop = method.coordinates == "tf_crop_and_resize"
    return change.size == length and change.scale == 1 and not is_crop


def _along(x: Value, change: Along, places: Array, method: Method) -> Value:
    length = fixed(x.shape[change.axis])
    if change.size == length and np.array_equal(places, np.arange(length)):
        return x
    if method.mode == "nearest":
        nearest = np.clip(_ROUND[method.nearest](places), 0, length - 1).astype(np.int64)
        factor, rest = divmod(change.size, length)
        if rest == 0 and np.array_equal(nearest, np.repeat(np.arange(length), factor)):
            return repeat(x, factor, change.axis)  # a view, where a gather would be a kernel
        return take(x, from_array(nearest.astype(np.int32), x.device), change.axis)
    indices, weights = _taps(places, length, change, method)
    total: Value | None = None
    column = (change.size, *([1] * (x.ndim - change.axis - 1)))
    for index, weight in zip(indices.T, weights.T, strict=True):
        picked = take(x, from_array(index.astype(np.int32), x.device), change.axis)
        share = from_array(weight.astype(dtypes.to_numpy(x.dtype)), x.device)
        term = multiply(picked, graph.reshape(share, column))
        total = term if total is None else add(total, term)
    assert total is not None
    return graph.contiguous(total)


# --- where to look --------------------------------------------------------------------------------


def _places(change: Along, length: int, coordinates: str) -> Array:
    """Positions in the input of all elements of the output. Source: ONNX, Resize."""
    if coordinates not in _COORDINATES:
        raise ModelError(f"Resize: coordinates {coordinates} are not ONNX's")
    at = np.arange(change.size, dtype=np.float64)
    return _COORDINATES[coordinates](at, change, length)


def _half_pixel(at: Array, change: Along, length: int) -> Array:
    return (at + 0.5) / change.scale - 0.5


def _symmetric(at: Array, change: Along, length: int) -> Array:
    adjustment = change.size / (change.scale * length)
    return length / 2 * (1 - adjustment) + _half_pixel(at, change, length)


def _pytorch(at: Array, change: Along, length: int) -> Array:
    if change.scale * length == 1:
        return np.full_like(at, -0.5)
    return _half_pixel(at, change, length)


def _corners(at: Array, change: Along, length: int) -> Array:
    wide = change.scale * length
    return np.zeros_like(at) if wide == 1 else at * (length - 1) / (wide - 1)


def _crop(at: Array, change: Along, length: int) -> Array:
    start, end = change.roi
    wide = change.scale * length
    reach = (end - start) * (length - 1)
    inside = np.full_like(at, reach / 2) if wide == 1 else at * reach / (wide - 1)
    return inside + start * (length - 1)


_COORDINATES: Mapping[str, Callable[[Array, Along, int], Array]] = {
    "align_corners": _corners,
    "asymmetric": lambda at, change, length: at / change.scale,
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _symmetric,
    "pytorch_half_pixel": _pytorch,
    "tf_crop_and_resize": _crop,
    "tf_half_pixel_for_nn": lambda at, change, length: (at + 0.5) / change.scale,
}
_ROUND: Mapping[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


# --- how to weigh ---------------------------------------------------------------------------------


def _taps(places: Array, length: int, change: Along, method: Method) -> tuple[Array, Array]:
    """(size, taps): what each element reads, and its weights, which sum to 1."""
    left = np.ceil(places) - 1
    ratio = (places - left)[:, None]  # in (0, 1]
    reach = 1 if method.mode == "linear" else 2
    scale = min(change.scale, 1.0) if method.antialias else 1.0
    first = int(np.floor(-reach / scale)) + 1
    offsets = np.arange(first, 2 - first)[None, :]
    distance = np.abs((offsets - ratio) * scale)
    weights = np.clip(1 - distance, 0, 1) if reach == 1 else _cubic(distance, method.cubic)
    indices = left[:, None] + offsets
    if method.exclude_outside:
        weights = np.where((indices < 0) | (indices >= length), 0.0, weights)
    if method.exclude_outside or method.antialias:
        weights = weights / weights.sum(1, keepdims=True)
    return np.clip(indices, 0, length - 1), weights


def _cubic(x: Array, a: float) -> Array:
    """Source: R. Keys, Cubic convolution interpolation, 1981."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))
