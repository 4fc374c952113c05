"""Images: arrays of pixels of four channels, in rows, which devices read and write by pixel.

Element e of an image is channel e % 4 of pixel e / 4; pixel p is at x = p % width, y = p / width.
"""

from compiler.ir.dtype import BOOL, FLOAT16, FLOAT32, INT32, VOID
from compiler.ir.node import Node

CHANNELS = 4  # elements of a pixel
PLACE = INT32.vec(2)  # the dtype of (x, y)


def height(image: Node) -> int:
    """The rows of an IMAGE."""
    _, size, width = image.attr
    return int(size // (CHANNELS * width))


def why_no_image(node: Node) -> str | None:
    """What is wrong with an IMAGE."""
    _, size, width = node.attr
    if node.dtype not in (FLOAT16, FLOAT32):
        return f"dtype {node.dtype}, an image holds float16 or float32"
    if width < 1 or size < 1 or size % (CHANNELS * width):
        return f"{size} elements are no whole rows of {width} pixels of {CHANNELS}"
    return f"{len(node.src)} sources, expected 0" if node.src else None


def why_no_pixel(access: Node, *, is_write: bool) -> str | None:
    """What is wrong with READ (image, place) or WRITE (image, place, value, [gate])."""
    values = access.src[2:] if is_write else (access,)
    own = access.src[0].dtype.vec(CHANNELS)
    if values[0].dtype not in (FLOAT32.vec(CHANNELS), own):
        return f"moves {values[0].dtype}, a pixel is {own}, or float32 that hold the same"
    if len(access.src) > (4 if is_write else 2):
        return f"{len(access.src)} sources, a gated pixel is not read but chosen"
    if is_write and access.dtype is not VOID:
        return f"dtype {access.dtype}, expected void"
    return "gate is not bool" if [gate for gate in values[1:] if gate.dtype is not BOOL] else None
