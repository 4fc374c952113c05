"""Stores past the caches: a large result is not fetched from memory before it is overwritten.

They write whole cache lines at aligned addresses. Buffers are aligned (`runtime` sees to it);
offsets are proven here.
"""

from collections.abc import Iterable

from compiler.backends.base import Argument, Role
from compiler.ir import Node, Op
from compiler.rules import linear

LINE_BYTES = 64
MARK = "!nontemporal !0"
DEFINITION = "!0 = !{i32 1}\n"
FENCE = "  fence seq_cst"  # such stores are seen by other threads no earlier than later ones
_AFTER, _BUFFER = Op.AFTER, Op.BUFFER


def streamed(arguments: Iterable[Argument], least_bytes: int) -> frozenset[int | str]:
    """The keys of results that are larger than what caches are to hold; none if `least_bytes` is 0.

    What is read as well is not among them: it is in a cache already.
    """
    if not least_bytes:
        return frozenset()
    return frozenset([each.key for each in arguments if _is_large(each, least_bytes)])


def _is_large(argument: Argument, least_bytes: int) -> bool:
    if argument.role is not Role.OUTPUT or not isinstance(argument.size, int):
        return False
    return argument.size * argument.dtype.itemsize >= least_bytes


def is_streamed(write: Node, keys: frozenset[int | str]) -> bool:
    """Whether a WRITE fills whole lines of one of these buffers."""
    buffer, offset, value = write.src[:3]
    while buffer.op is _AFTER:
        buffer = buffer.src[0]
    if buffer.op is not _BUFFER or buffer.attr[0] not in keys:
        return False
    itemsize = value.dtype.itemsize
    if value.dtype.count * itemsize % LINE_BYTES:
        return False
    terms, constant = linear(offset)
    return all(factor * itemsize % LINE_BYTES == 0 for factor in (*terms.values(), constant))
