"""Values that one kernel would compute at too many places at once.

Where a value is read through several views (the neighbours of a stencil), all that is below it is
seen through as many; a chain of such steps multiplies them, work and nodes alike.
"""

from collections.abc import Container, Mapping, Sequence

from compiler.frontend.graph import MOVEMENTS, Kind, Value

MAX_WAYS = 128  # an estimate from above: kernels that share nothing count together

_KERNEL = object()  # the reader of what a kernel computes: whichever, it sees it as it is


def crowded(
    order: Sequence[Value], consumers: Mapping[Value, Sequence[Value]], asked: Container[Value]
) -> frozenset[Value]:
    """From the top down, the values whose views are more than `MAX_WAYS`; they start anew below.

    So they do below a reduction, which is cut wherever it would be run more than once.
    """
    found: set[Value] = set()
    ways: dict[Value, int] = {}
    reader: dict[Value, object] = {}  # the movement, or fork of movements, that it is seen through
    for value in reversed(order):
        readers: dict[object, None] = {}
        most = 1
        for consumer in consumers[value]:
            if consumer in asked or consumer in found or consumer.kind is Kind.REDUCE:
                readers[_KERNEL] = None
                continue
            readers[consumer if consumer.kind in MOVEMENTS else reader[consumer]] = None
            most = max(most, ways[consumer])
        # several kernels each see it once
        ways[value] = most * max(len(readers) - (_KERNEL in readers), 1)
        reader[value] = next(iter(readers)) if len(readers) == 1 else value
        if ways[value] > MAX_WAYS and value.kind is Kind.ELEMENTWISE and value not in asked:
            found.add(value)
    return frozenset(found)
