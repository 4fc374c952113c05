"""Images before lowering: what of a kernel walks over them four elements at a time."""

from compiler.ir import CHANNELS, AxisKind, Op
from compiler.kernel.accesses import Access, accesses
from compiler.kernel.axis import Axis
from compiler.kernel.kernel import Kernel
from compiler.target import Target

_LANES = (AxisKind.UPCAST, AxisKind.UNROLL)


def pixel_axes(kernel: Kernel, access: Access, *kinds: AxisKind) -> list[Axis]:
    """The axes of these kinds along which an access takes whole pixels."""
    return [
        axis
        for axis in kernel.of_kind(*kinds)
        if isinstance(axis.size, int)
        and axis.size % CHANNELS == 0
        and access.stride(kernel, axis) == 1
    ]


def has_pixel_lanes(kernel: Kernel, access: Access) -> bool:
    """Whether one iteration takes whole pixels."""
    return bool(pixel_axes(kernel, access, *_LANES))


def why_partial(kernel: Kernel, target: Target) -> str | None:
    """Why the target cannot write an image of this kernel: pixels are written whole."""
    if not target.capabilities.images:
        return None
    for access in accesses(kernel):
        image = access.node.src[0]
        if access.is_store and image.op is Op.IMAGE and not has_pixel_lanes(kernel, access):
            return f"image {image.attr[0]} is written by pixel: needs UPCAST {CHANNELS} along it"
    return None
