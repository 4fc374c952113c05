"""Sizes of records at the largest values of their variables.

They are read as text: the process that reports need not import a compiler, which takes a second.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from math import prod

from corpus import ArgumentKind, Size
from replay.artefact import Artefact
from replay.metrics.nest import Sizes
from replay.metrics.whole import kept, whole

_VARIABLE = re.compile(r"= VAR \w+ name=(\S+) lo=-?[0-9]+ hi=(-?[0-9]{1,20})\b")
_LINE = re.compile(r"^(%\d+) = ([A-Z0-9]+) \w+((?: %\d+)*)(?: (?:name|value)=(\S+))?")
_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "ADD": lambda a, b: a + b,
    "SUB": lambda a, b: a - b,
    "MUL": lambda a, b: a * b,
    "IDIV": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0,
    "MAX": max,
    "MIN": min,
}


def sizes_of(artefact: Artefact) -> Sizes | None:
    """What the source of `artefact` leaves open; None where a size has no number."""
    launch = () if artefact.launch is None else artefact.launch.global_size
    limits = _limits((*launch, *[argument.size for argument in artefact.arguments]))
    numbers = [largest(size, limits) for size in launch]
    if None in numbers:
        return None
    variables = {
        argument.name: limits[argument.name]
        for argument in artefact.arguments
        if argument.kind is ArgumentKind.VAR and argument.name in limits
    }
    names = tuple(argument.name for argument in artefact.arguments)
    group = () if artefact.launch is None else artefact.launch.local_size
    fixed = tuple(size for size in group if isinstance(size, int))
    return Sizes(prod([number or 0 for number in numbers]), fixed, names, variables)


def elements_written(artefact: Artefact) -> int | None:
    """Elements of all buffers that the kernel may write."""
    written = (ArgumentKind.OUT, ArgumentKind.INOUT)
    sizes = [argument.size for argument in artefact.arguments if argument.kind in written]
    numbers = [largest(size, _limits(sizes)) for size in sizes]
    return None if None in numbers else sum([number or 0 for number in numbers])


def largest(size: Size, limits: Mapping[str, int]) -> int | None:
    """A size as a number, at the limits of its variables."""
    if isinstance(size, int):
        return size
    values: dict[str, int | None] = {}
    last: int | None = None
    for line in size.splitlines()[1:]:  # the first line is the grammar's version
        found = _LINE.match(line)
        if found is None:
            return None
        name, op, sources, word = found.groups()
        operands = [values.get(source) for source in sources.split()]
        values[name] = last = _number(op, operands, word or "", limits)
    return last


def _number(
    op: str, operands: list[int | None], word: str, limits: Mapping[str, int]
) -> int | None:
    """What one line defines; None for an op that sizes are not made of."""
    if op == "VAR":
        return limits.get(word)
    if op == "CONST":
        return whole(word)
    known = [operand for operand in operands if operand is not None]
    if len(known) < len(operands):
        return None
    if op == "CAST" and len(known) == 1:
        return known[0]
    return kept(_ARITHMETIC[op](*known)) if op in _ARITHMETIC and len(known) == 2 else None


def _limits(sizes: Iterable[Size]) -> dict[str, int]:
    """The largest value of each variable in `sizes`; their texts say it."""
    texts = [size for size in sizes if isinstance(size, str)]
    return {name: int(high) for text in texts for name, high in _VARIABLE.findall(text)}
