"""One step of many along an axis: what loops over rows need."""

import numpy as np

from compiler.frontend import graph
from compiler.frontend.functions.indexing import take
from compiler.frontend.graph import Value
from compiler.frontend.storage import from_array
from compiler.frontend.symbolic import largest

FEW = 8


def row(x: Value, axis: int, place: int) -> Value:
    """The part of `x` at one place of an axis, without the axis.

    On long axes the place is data: the kernels of all steps are then one kernel.
    """
    rest = x.shape[:axis] + x.shape[axis + 1 :]
    if largest(x.shape[axis]) > FEW:
        return take(x, from_array(np.asarray(place, np.int32), x.device), axis)
    bounds = [(0, size) for size in x.shape]
    bounds[axis] = (place, place + 1)
    return graph.reshape(graph.shrink(x, tuple(bounds)), rest)
