"""Drawn kernels with images in place of some of their buffers."""

from hypothesis import strategies as st

from compiler.ir import (
    ARRAYS,
    CHANNELS,
    FLOAT16,
    FLOAT32,
    Node,
    Op,
    View,
    intern,
    substitute,
    toposort,
)
from replay.fuzz.views import Draw

_WIDTHS = (1, 2, 3, 4, 8, 16)


def with_images(draw: Draw, root: Node) -> Node:
    """`root` with every other buffer that may be an image as one, rows of a drawn width.

    An image has whole rows: more elements than the buffer, where they do not come out even.
    """
    mapping: dict[Node, Node] = {}
    written = {store.src[0]: store.attr[0].views for store in root.src}
    for node in toposort(root):
        if node.op not in ARRAYS or node.dtype not in (FLOAT16, FLOAT32):
            continue
        is_fit = node not in written or _is_by_pixel(written[node][-1])
        if is_fit and draw(st.integers(0, 2)):
            slot, size = node.attr[:2]
            row = CHANNELS * _WIDTHS[draw(st.integers(0, len(_WIDTHS) - 1))]
            attr = (slot, -(-size // row) * row, row // CHANNELS)
            mapping[node] = intern(Op.IMAGE, node.dtype, (), attr)
    return substitute(root, mapping)


def _is_by_pixel(view: View) -> bool:
    """Whether an axis fills whole pixels, so that the image can be written."""
    pairs = zip(view.shape, view.strides, strict=True)
    return any(step == 1 and isinstance(size, int) and size % CHANNELS == 0 for size, step in pairs)
