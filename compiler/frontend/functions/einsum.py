"""Sums of products by index letters: one product over all letters, summed over those not kept.

Pairs are contracted from the left, so that a chain of matrices is a chain of products.
"""

from collections.abc import Sequence
from math import prod

from compiler.errors import DTypeError, ShapeError
from compiler.frontend import dtypes, graph
from compiler.frontend.functions.elementwise import equal, where
from compiler.frontend.functions.picking import places_along
from compiler.frontend.graph import Value
from compiler.frontend.operands import Operand, as_value, device_of
from compiler.ir import BOOL, Op


def einsum(subscripts: str, *operands: Operand) -> Value:
    """As NumPy's einsum over letters and `...`: `ij,jk->ik`; without an arrow, sorted letters."""
    if not operands:
        raise ShapeError(f"einsum {subscripts!r}: has no operands")
    device = device_of(operands)
    values = [as_value(operand, device) for operand in operands]
    inputs, output = _parse(subscripts, values)
    sizes = _sizes(subscripts, inputs, values)
    dtype = values[0].dtype
    for value in values[1:]:
        dtype = dtypes.promote(dtype, value.dtype)
    wide = dtypes.accumulator(dtype)
    named = [
        (_distinct(graph.cast(value, wide), letters))
        for value, letters in zip(values, inputs, strict=True)
    ]
    result, letters = named[0]
    for number, (other, others) in enumerate(named[1:], 1):
        later = {letter for _, rest in named[number + 1 :] for letter in rest}
        kept = [x for x in dict.fromkeys((*letters, *others)) if x in later or x in output]
        result, letters = _contract(result, letters, other, others, tuple(kept), sizes)
    return graph.cast(_finish(result, letters, output, sizes), dtype)


Letters = tuple[str, ...]


def _parse(subscripts: str, values: Sequence[Value]) -> tuple[list[Letters], Letters]:
    """The letters of each axis; axes under an ellipsis get numbers from the right."""
    if not isinstance(subscripts, str):
        raise DTypeError(f"einsum {subscripts!r:.40}: begins with the subscripts, as a string")
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(values):
        raise ShapeError(f"einsum {subscripts!r}: names {len(parts)} operands of {len(values)}")
    inputs = [
        _letters(part, value.ndim, subscripts) for part, value in zip(parts, values, strict=True)
    ]
    every = [letter for letters in inputs for letter in letters]
    hidden = sorted({x for x in every if x.isdigit()}, key=int, reverse=True)
    if not arrow:
        once = sorted({x for x in every if not x.isdigit() and every.count(x) == 1})
        return inputs, (*hidden, *once)
    before, dots, after = right.partition("...")
    output = (*before, *(hidden if dots else ()), *after)
    if hidden and not dots:
        raise ShapeError(f"einsum {subscripts!r}: the result has no ... for what ... stands for")
    if len(set(output)) != len(output) or not set(output) <= set(every):
        raise ShapeError(f"einsum {subscripts!r}: the result names an index twice or a new one")
    return inputs, output


def _letters(part: str, ndim: int, subscripts: str) -> Letters:
    before, dots, after = part.partition("...")
    count = ndim - len(before) - len(after)
    named = before + after
    if count < 0 or (count > 0 and not dots) or not all(letter.isalpha() for letter in named):
        raise ShapeError(f"einsum {subscripts!r}: {part!r} does not name {ndim} dimensions")
    return (*before, *[str(number) for number in reversed(range(count))], *after)


def _sizes(subscripts: str, inputs: Sequence[Letters], values: Sequence[Value]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for letters, value in zip(inputs, values, strict=True):
        own: dict[str, int] = {}  # a diagonal is of equal sizes, 1 is not repeated for it
        for letter, size in zip(letters, value.shape, strict=True):
            if own.setdefault(letter, size) != size:
                raise ShapeError(
                    f"einsum {subscripts!r} of {value.shape}: {letter} is {own[letter]} and {size}"
                )
            known = sizes.setdefault(letter, size)
            if known == 1:
                sizes[letter] = size
            elif size not in (1, known):
                shapes = " and ".join(str(value.shape) for value in values)
                raise ShapeError(
                    f"einsum {subscripts!r} of {shapes}: {letter} is {known} and {size}"
                )
    return sizes


def _distinct(value: Value, letters: Letters) -> tuple[Value, Letters]:
    """Axes with the same letter become one: the diagonal."""
    for letter in letters:
        first, last = letters.index(letter), len(letters) - 1 - letters[::-1].index(letter)
        if first != last:
            rows = places_along(value.shape[first], first, value.shape, value.device)
            columns = places_along(value.shape[last], last, value.shape, value.device)
            zero = graph.full(0, value.dtype, value.shape, value.device)
            diagonal = where(equal(rows, columns), value, zero)
            op = Op.OR if value.dtype is BOOL else Op.ADD
            return _distinct(
                graph.reduce(op, diagonal, (last,)), letters[:last] + letters[last + 1 :]
            )
    return value, letters


def _contract(
    a: Value, a_letters: Letters, b: Value, b_letters: Letters, kept: Letters, sizes: dict[str, int]
) -> tuple[Value, Letters]:
    summed = [x for x in dict.fromkeys((*a_letters, *b_letters)) if x not in kept]
    order = (*kept, *summed)
    left, right = _spread(a, a_letters, order, sizes), _spread(b, b_letters, order, sizes)
    product = graph.elementwise(Op.AND if a.dtype is BOOL else Op.MUL, left, right)
    return _summed(product, len(kept)), kept


def _summed(value: Value, kept: int) -> Value:
    op = Op.OR if value.dtype is BOOL else Op.ADD
    return graph.reduce(op, value, tuple(range(kept, value.ndim)))


def _spread(value: Value, letters: Letters, order: Letters, sizes: dict[str, int]) -> Value:
    """The value over all of `order`, repeated along what it does not have."""
    present = [letter for letter in order if letter in letters]
    turned = graph.permute(value, tuple([letters.index(letter) for letter in present]))
    own = dict(zip(present, turned.shape, strict=True))
    column = graph.reshape(turned, tuple([own.get(letter, 1) for letter in order]))
    return graph.expand(column, tuple([sizes[letter] for letter in order]))


def _finish(value: Value, letters: Letters, output: Letters, sizes: dict[str, int]) -> Value:
    order = (*output, *[letter for letter in letters if letter not in output])
    spread = _spread(value, letters, order, sizes)
    assert spread.size == prod(sizes[letter] for letter in order)
    return _summed(spread, len(output))
