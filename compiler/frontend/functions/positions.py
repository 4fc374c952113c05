"""Where a mask holds: how often it does is read first, because it is the shape of the result."""

from compiler.frontend import graph
from compiler.frontend.functions.creation import counting
from compiler.frontend.functions.scan import cumsum
from compiler.frontend.functions.sorting import searchsorted
from compiler.frontend.graph import Value
from compiler.frontend.realize import to_numpy
from compiler.ir import INT64


def positions(mask: Value) -> Value:
    """The places at which a flat mask holds, int64."""
    if not mask.size:
        return graph.full(0, INT64, (0,), mask.device)
    counted = graph.contiguous(cumsum(graph.cast(mask, INT64), 0))
    last = graph.shrink(counted, ((mask.size - 1, mask.size),))
    total = int(to_numpy(last).item())
    wanted = counting(total + 1, mask.device, INT64)
    return searchsorted(counted, graph.shrink(wanted, ((1, total + 1),)))
