"""Targets without work-groups: the vectors of a register tile come from a panel in the cache."""

from math import prod

from compiler.ir import AxisKind
from compiler.kernel.accesses import Access
from compiler.kernel.axis import Axis
from compiler.kernel.heuristics.draft import Draft, size_of
from compiler.kernel.heuristics.product import find_product
from compiler.kernel.opts import Lds, Swap
from compiler.kernel.panels import copied


def staging(draft: Draft) -> Draft:
    """LDS for the operand that is read as vectors, where enough rows of the other one use it.

    A panel that all loops share is best, since any loop may then be outermost. Where it is too
    large the loops over its parts go to the outside.
    """
    is_tile = len(draft.loops(AxisKind.UPCAST)) > 1
    product = None if draft.has_work_groups or not is_tile else find_product(draft)
    if product is None or not product.is_plain:
        return draft
    for access in (*product.left, *product.right):
        if _is_vector(draft, access) and is_worth_staging(draft, access):
            return _stage(draft, access)
    return draft


def _is_vector(draft: Draft, access: Access) -> bool:
    """Whether it moves with the lanes that are neighbours where they are written."""
    lanes = draft.loops(AxisKind.UPCAST)
    stores = [store for store in draft.accesses if store.is_store]
    columns = [lane for lane in lanes if any(draft.stride(store, lane) == 1 for store in stores)]
    return any(draft.stride(access, column) != 0 for column in columns)


def is_worth_staging(draft: Draft, access: Access) -> bool:
    """Whether each element copied once is used by many rows, and it is large or scattered.

    A small operand is in a cache anyway; but where it has no columns side by side, only a panel
    can be read as vectors.
    """
    outputs = draft.loops(AxisKind.GLOBAL, AxisKind.UPCAST)
    rows = prod([size_of(axis) for axis in outputs if draft.stride(access, axis) == 0])
    buffer = access.node.src[0]
    size = buffer.attr[1] if isinstance(buffer.attr[1], int) else 0
    is_large = size * buffer.dtype.itemsize >= draft.options.staged_bytes
    is_scattered = all(draft.stride(access, axis) != 1 for axis in outputs)
    fits = panel_columns(draft, access) >= draft.options.vector_lanes
    return (is_large or is_scattered) and fits and rows >= draft.options.staged_rows


def panel_columns(draft: Draft, access: Access) -> int:
    """How many columns a panel may have in local memory, with all terms of their sums."""
    loops = draft.loops(AxisKind.REDUCE)
    terms = prod([size_of(axis) for axis in loops if draft.stride(access, axis) != 0])
    return draft.target.capabilities.shared_bytes // (terms * access.node.dtype.itemsize)


def _stage(draft: Draft, access: Access) -> Draft:
    slot = access.node.src[0].attr[0]
    choices = [draft.attempt(Lds(slot))]
    outside = draft.loops(AxisKind.GLOBAL)
    for row in outside:
        later = outside[outside.index(row) + 1 :]
        if draft.stride(access, row) == 0 and (columns := _moving(draft, access, later)):
            swapped = draft.attempt(Swap(row.name, columns[-1].name))
            choices.append(None if swapped is None else swapped.attempt(Lds(slot)))
            break
    found = [choice for choice in choices if choice is not None]
    return min(found, key=lambda each: copied(each.kernel, each.target.capabilities), default=draft)


def _moving(draft: Draft, access: Access, axes: list[Axis]) -> list[Axis]:
    return [axis for axis in axes if draft.stride(access, axis) != 0]
