"""Targets without work-groups: vectors for what is no product of matrices.

What nothing here upcasts is left to the loop vectorizer of the target's own compiler.
"""

from collections.abc import Sequence
from math import prod

from compiler.ir import AxisKind
from compiler.kernel.accesses import Access
from compiler.kernel.axis import Axis
from compiler.kernel.heuristics.draft import Draft, divisors, size_of, vectors_of
from compiler.kernel.heuristics.product import Product, find_product
from compiler.kernel.kernel import iterations, reduces
from compiler.kernel.opts import Unroll, Upcast

CHAINS = 4  # independent sums that keep a floating point adder busy, or vectors of them
_OF_EVERYTHING = 2  # vectors of a sum without outputs: as many terms as UNROLL takes
_FEWEST_LANES = 4  # below, sums in lanes cost more than they save
_FOLDED = 1  # steps that adding up one lane after the loop takes
_SQUARE = 8  # lines of a transposition that are read and written together


def vectorize(draft: Draft) -> Draft:
    """UPCAST or UNROLL the axis along which most accesses are contiguous by the vector's lanes."""
    if not draft.has_tiles or draft.has_lanes:
        return draft
    ranked = [
        (score(draft, axis), not axis.is_reduce, place, axis)
        for place, axis in enumerate(draft.kernel.axes)
        if axis in draft.loops(AxisKind.GLOBAL, AxisKind.REDUCE) and lanes_of(draft, axis)
    ]
    worthy = [entry for entry in ranked if entry[0] > 0]
    if not worthy:
        return draft
    axis = max(worthy, key=lambda entry: entry[:3])[3]
    if not axis.is_reduce:
        return draft.or_else(Upcast(axis.name, lanes_of(draft, axis)))
    return _chains(draft.or_else(Unroll(axis.name, lanes_of(draft, axis))))


def score(draft: Draft, axis: Axis) -> int:
    """Elements in contiguous accesses less those in scattered ones.

    What is read for every term of a sum weighs more than what is read or written once for all. A
    mask along the axis does not matter: conditions of neighbours are one vector, as running sums,
    windows over padding and padding itself have them.
    """
    total = 0
    for access in draft.accesses:
        stride = draft.stride(access, axis)
        if stride == 1:
            total += _elements(draft, access)
        elif stride != 0:
            total -= _elements(draft, access)
    return total


def _elements(draft: Draft, access: Access) -> int:
    """How many different elements an access moves over, symbolic sizes aside."""
    axes = draft.kernel.axes
    return iterations(tuple([axis for axis in axes if draft.stride(access, axis) != 0]))


def lanes_of(draft: Draft, axis: Axis) -> int:
    """The divisor of the axis that takes the fewest vectors per element; 0 if there is none.

    Outputs that are sums take several vectors: then as many sums are under way. So does a sum of
    everything.
    """
    lanes = draft.options.vector_lanes
    vectors = 1
    if axis.is_reduce and not draft.loops(AxisKind.GLOBAL):
        vectors = _OF_EVERYTHING
    elif not axis.is_reduce and reduces(draft.kernel):
        vectors = CHAINS
    fewest, most = _FEWEST_LANES if axis.is_reduce else 1, draft.target.capabilities.max_upcast
    amounts = [n for n in divisors(size_of(axis), lanes * vectors) if fewest <= n <= most]
    return min(amounts, key=lambda amount: (vectors_of(draft, amount) / amount, -amount), default=0)


def _chains(draft: Draft) -> Draft:
    """UPCAST output axes so that several sums are under way, two of a product: loads are reused."""
    product = find_product(draft)
    for axis in _sides(draft, product) if product else draft.loops(AxisKind.GLOBAL)[-1:]:
        amounts = divisors(size_of(axis), CHAINS)
        if amounts:
            draft = draft.or_else(Upcast(axis.name, amounts[-1]))
    return draft


def _sides(draft: Draft, product: Product) -> list[Axis]:
    """The innermost axis that moves only the left side, and that of the right; else the last two.

    Each load is then used for as many sums as the other side has.
    """
    axes = draft.loops(AxisKind.GLOBAL)
    left = [a for a in axes if moves(draft, product.left, a) and not moves(draft, product.right, a)]
    right = [
        a for a in axes if moves(draft, product.right, a) and not moves(draft, product.left, a)
    ]
    found = [*left[-1:], *right[-1:]]
    return sorted(found, key=axes.index) if len(found) == 2 else axes[-2:]


def moves(draft: Draft, accesses: Sequence[Access], axis: Axis) -> bool:
    """Whether some access reads another place in each iteration of the axis."""
    return any(draft.stride(access, axis) != 0 for access in accesses)


def worth_in_lanes(draft: Draft, product: Product) -> float:
    """Products per load where lanes lie along the sum, as `tiles` counts them; 0 if they cannot."""
    accesses = (*product.left, *product.right)
    terms = [
        axis
        for axis in draft.loops(AxisKind.REDUCE)
        if all(
            draft.stride(each, axis) == 1 and axis.origin not in each.masked for each in accesses
        )
    ]
    lanes = max([lanes_of(draft, axis) for axis in terms], default=0)
    chains = [divisors(size_of(axis), CHAINS) for axis in _sides(draft, product)]
    if not lanes or len(chains) < 2:
        return 0.0
    rows, columns = [max(amounts, default=1) for amounts in chains]
    useful = lanes / (vectors_of(draft, lanes) * draft.options.vector_lanes)
    steps = prod([size_of(axis) for axis in draft.loops(AxisKind.REDUCE)]) / lanes
    folded = steps / (steps + _FOLDED * lanes)
    return useful * folded * rows * columns / (rows + columns)


def transposition(draft: Draft) -> Draft:
    """UPCAST two axes that are each contiguous in some access: whole lines are read and written."""
    if not draft.has_tiles or draft.has_lanes or reduces(draft.kernel):
        return draft
    lines = [
        axis
        for axis in draft.loops(AxisKind.GLOBAL)
        if any(draft.stride(access, axis) == 1 for access in draft.accesses)
    ]
    amounts = [max(divisors(size_of(axis), _SQUARE), default=1) for axis in lines]
    if len(lines) != 2 or min(amounts) < _FEWEST_LANES:
        return draft
    for axis, amount in zip(lines, amounts, strict=True):
        draft = draft.or_else(Upcast(axis.name, amount))
    return draft
