"""Kernels of tensors with images in place of buffers, where a device has images.

A buffer becomes one if every access takes whole pixels, four neighbouring elements at a time; the
rows of the image are the shortest that the accesses walk over, so that indices need no division.
"""

from collections.abc import Sequence
from functools import lru_cache

from compiler.backends import Device
from compiler.ir import CHANNELS, FLOAT16, FLOAT32, Node, Op, intern, substitute
from compiler.kernel import Access, Kernel, accesses, from_ast
from compiler.target import PROFILES, Target

MOST_PIXELS = 8192  # of a row, and rows: what every device with images takes
MAX_PLACED = 1024  # kernels that are remembered


def with_images(ast: Node, device: Device) -> tuple[Node, Target]:
    """The kernel and its target: as they are, where the device or the kernel has no images."""
    target = _target_with_images(device)
    placed = ast if target is None else place_images(ast)
    return (ast, device.target) if target is None or placed is ast else (placed, target)


def _target_with_images(device: Device) -> Target | None:
    """The first profile with images that describes the device."""
    own = device.target.backend
    able = [each for each in PROFILES if each.backend == own and each.capabilities.images]
    return next((target for target in able if device.why_unlike(target) is None), None)


@lru_cache(maxsize=MAX_PLACED)
def place_images(ast: Node) -> Node:
    """`ast` with an image for each buffer that is only read, or only written, by pixel."""
    kernel = from_ast(ast)
    found: dict[Node, list[Access]] = {}
    for access in accesses(kernel):
        found.setdefault(access.node.src[0], []).append(access)
    mapping: dict[Node, Node] = {}
    for buffer, walks in found.items():
        width = _width(kernel, buffer, walks)
        if width is not None:
            attr = (*buffer.attr, width)
            mapping[buffer] = intern(Op.IMAGE, buffer.dtype, (), attr)
    return substitute(ast, mapping) if mapping else ast


def _width(kernel: Kernel, buffer: Node, walks: Sequence[Access]) -> int | None:
    """The pixels of a row, None where the buffer stays one."""
    size = buffer.attr[1]
    if buffer.op is not Op.BUFFER or buffer.dtype not in (FLOAT16, FLOAT32):
        return None
    if not isinstance(size, int) or size % CHANNELS or len({walk.is_store for walk in walks}) > 1:
        return None
    if not all(_is_by_pixel(kernel, walk) for walk in walks):
        return None
    steps = {step for walk in walks for step in walk.strides.values() if step is not None}
    rows = [step // CHANNELS for step in sorted(steps) if step >= CHANNELS and size % step == 0]
    pixels = size // CHANNELS
    powers = [1 << power for power in reversed(range(MOST_PIXELS.bit_length()))]
    for width in (*rows, pixels, *powers):
        if pixels % width == 0 and width <= MOST_PIXELS >= pixels // width:
            return width
    return None


def _is_by_pixel(kernel: Kernel, walk: Access) -> bool:
    """Whether an axis fills pixels, all others go from pixel to pixel, and none is cut."""
    if walk.node.op is Op.GATHER:
        return False
    sizes = dict(kernel.domain)
    fills = others = 0
    for name, step in walk.strides.items():
        size = sizes[name]
        if step == 1 and isinstance(size, int) and size % CHANNELS == 0:
            fills += 1
        elif step is None or step % CHANNELS:
            others += 1
    return fills == 1 and not others and not (walk.is_store and _is_shifted(walk))


def _is_shifted(store: Access) -> bool:
    offset = store.node.attr[0].views[0].offset
    is_aligned = isinstance(offset, int) and offset % CHANNELS == 0
    return bool(store.masked) or len(store.node.attr[0].views) > 1 or not is_aligned
