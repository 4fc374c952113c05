"""Pixels of images: outside is 0 to read, an error to write; what is written is not rounded."""

import numpy as np

from compiler.backends.reference.arithmetic import Array, numpy_dtype
from compiler.errors import DeviceError
from compiler.ir import CHANNELS, Node, height


def read_pixel(node: Node, cells: Array, place: Array) -> Array:
    """The channels at each place, 0 outside of the image; in the dtype of the READ."""
    image = node.src[0]
    inside = _is_inside(image, place)
    first = np.where(inside, _first(image, place), 0)
    value = cells[first[..., None] + np.arange(CHANNELS)].astype(numpy_dtype(node.dtype))
    return np.where(inside[..., None], value, np.zeros_like(value))


def write_pixel(node: Node, cells: Array, place: Array, value: Array, valid: Array | None) -> None:
    """Store the channels at each place that is `valid`.

    Raises DeviceError for a place outside of the image, and for a value that the image would round:
    devices do that in ways of their own.
    """
    image = node.src[0]
    shown = np.ones((), np.bool_) if valid is None else valid
    if np.any(~_is_inside(image, place) & shown):
        raise DeviceError(f"WRITE of image {image.attr[0]}: a pixel is outside")
    stored = value.astype(cells.dtype)
    is_same = (stored.astype(value.dtype) == value) | np.isnan(value)
    if not np.all(is_same | ~shown[..., None]):
        raise DeviceError(f"WRITE of image {image.attr[0]}: {value.dtype} that is no {image.dtype}")
    element = _first(image, place)[..., None] + np.arange(CHANNELS)
    element, stored, shown = np.broadcast_arrays(element, stored, shown[..., None])
    cells[element[shown]] = stored[shown]


def _is_inside(image: Node, place: Array) -> Array:
    x, y = place[..., 0], place[..., 1]
    return np.asarray((x >= 0) & (x < image.attr[2]) & (y >= 0) & (y < height(image)))


def _first(image: Node, place: Array) -> Array:
    """The element with which the pixel begins."""
    x, y = [place[..., axis].astype(np.int64) for axis in (0, 1)]
    return np.asarray(CHANNELS * (y * image.attr[2] + x))
