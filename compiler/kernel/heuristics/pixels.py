"""Images, on targets that have them: four neighbouring elements in one iteration are one pixel."""

from compiler.errors import IllegalOptError
from compiler.ir import CHANNELS, AxisKind, Op
from compiler.kernel.accesses import Access
from compiler.kernel.heuristics.draft import Draft
from compiler.kernel.opts import Unroll, Upcast
from compiler.kernel.pixels import has_pixel_lanes, pixel_axes

_READ = (AxisKind.GLOBAL, AxisKind.GROUP, AxisKind.REDUCE)


def written_pixels(draft: Draft) -> Draft:
    """UPCAST by 4 along every image that is written, which is not a choice: pixels are whole.

    Raises IllegalOptError where an image has no such axis.
    """
    for access in _image_accesses(draft):
        if not access.is_store or has_pixel_lanes(draft.kernel, access):
            continue
        axes = pixel_axes(draft.kernel, access, AxisKind.GLOBAL)
        chosen = draft.attempt(Upcast(axes[0].name, CHANNELS)) if axes else None
        if chosen is None:
            raise IllegalOptError(
                f"image {access.node.src[0].attr[0]} is written by pixel: needs an output axis of "
                f"stride 1 whose size is a multiple of {CHANNELS}, use a BUFFER"
            )
        draft = chosen
    return draft


def read_pixels(draft: Draft) -> Draft:
    """UPCAST or UNROLL by 4 along every image that is read: its pixels are read once."""
    for access in _image_accesses(draft):
        if has_pixel_lanes(draft.kernel, access):
            continue
        axes = pixel_axes(draft.kernel, access, *_READ)
        if axes:
            opt = Unroll if axes[0].is_reduce else Upcast
            draft = draft.or_else(opt(axes[0].name, CHANNELS))
    return draft


def writes_pixels(draft: Draft) -> bool:
    """Whether an output is an image."""
    return any(access.is_store for access in _image_accesses(draft))


def _image_accesses(draft: Draft) -> list[Access]:
    if not draft.target.capabilities.images:
        return []
    return [access for access in draft.accesses if access.node.src[0].op is Op.IMAGE]
