"""Matrix times vector on targets with work-groups: each row is summed by a few work items."""

from compiler.ir import AxisKind
from compiler.kernel.accesses import Access
from compiler.kernel.axis import Axis
from compiler.kernel.heuristics.draft import Draft, size_of
from compiler.kernel.heuristics.product import find_product
from compiler.kernel.opts import Group, Local, Upcast


def matvec(draft: Draft) -> Draft:
    """GROUP the sum, LOCAL and UPCAST the first rows that divide; nothing where one is illegal."""
    options = draft.options
    if not options.matvec or not draft.has_local_memory or len(draft.kernel.axes) < 2:
        return draft
    product = find_product(draft)
    terms = draft.kernel.of_kind(AxisKind.REDUCE)
    if product is None or not product.is_plain or not terms:
        return draft
    if not _is_matvec(draft, product.left[0], product.right[0], terms[0]):
        return draft
    if terms[0] not in draft.loops(AxisKind.REDUCE) or size_of(terms[0]) % options.matvec_threads:
        return draft
    for row in draft.loops(AxisKind.GLOBAL):
        if size_of(row) % (options.matvec_block * options.matvec_rows) == 0:
            chosen = _choose(draft, row, terms[0])
            if chosen is not None:
                return chosen
    return draft


def _is_matvec(draft: Draft, left: Access, right: Access, term: Axis) -> bool:
    """Whether one operand runs along the sum, and one of the two depends on every axis."""
    if _repeats(draft, left) and _repeats(draft, right):
        return False
    return any(draft.stride(access, term) == 1 for access in (left, right))


def _repeats(draft: Draft, access: Access) -> bool:
    return any(draft.stride(access, axis) == 0 for axis in draft.kernel.axes)


def _choose(draft: Draft, row: Axis, term: Axis) -> Draft | None:
    options = draft.options
    grouped = draft.attempt(Group(term.name, options.matvec_threads))
    local = None if grouped is None else grouped.attempt(Local(row.name, options.matvec_block))
    rest = None if local is None else local.rest_of(row.origin, AxisKind.GLOBAL)
    if local is None or rest is None:
        return local
    return local.attempt(Upcast(rest.name, options.matvec_rows))
