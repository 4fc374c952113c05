"""Images, on targets that have them: four neighbouring elements in one iteration are one pixel."""

from compiler.errors import IllegalOptError
from compiler.ir import CHANNELS, AxisKind, Op
from compiler.kernel.accesses import Access
from compiler.kernel.axis import Axis
from compiler.kernel.heuristics.draft import Draft, size_of
from compiler.kernel.opts import Unroll, Upcast


def written_pixels(draft: Draft) -> Draft:
    """UPCAST by 4 along every image that is written, which is not a choice: pixels are whole.

    Raises IllegalOptError where an image has no such axis.
    """
    for access in _image_accesses(draft):
        if not access.is_store or _has_lanes(draft, access):
            continue
        axes = _along(draft, access, AxisKind.GLOBAL)
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
        if _has_lanes(draft, access):
            continue
        axes = _along(draft, access, AxisKind.GLOBAL, AxisKind.GROUP, AxisKind.REDUCE)
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


def _has_lanes(draft: Draft, access: Access) -> bool:
    """Whether neighbouring elements are taken in one iteration already."""
    return bool(_along(draft, access, AxisKind.UPCAST, AxisKind.UNROLL))


def _along(draft: Draft, access: Access, *kinds: AxisKind) -> list[Axis]:
    """The axes of these kinds that walk over whole pixels."""
    return [
        axis
        for axis in draft.loops(*kinds)
        if draft.stride(access, axis) == 1 and size_of(axis) % CHANNELS == 0
    ]
