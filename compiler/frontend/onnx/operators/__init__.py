"""Every supported operator by name. To add one: a function and a line in the table of its topic.

Operators without a line are computed by ONNX's own definition of them, where there is one.
"""

from collections.abc import Mapping

from compiler.frontend.onnx.call import Operator
from compiler.frontend.onnx.operators import (
    activations,
    control,
    elementwise,
    linalg,
    movement,
    normalize,
    quantize,
    random,
    recurrent,
    reduce,
    regions,
    resize,
    roi,
    select,
    sequence,
    shapes,
    signal,
    training,
    window,
)

OPERATORS: Mapping[str, Operator] = {
    **activations.OPERATORS,
    **control.OPERATORS,
    **elementwise.OPERATORS,
    **linalg.OPERATORS,
    **movement.OPERATORS,
    **normalize.OPERATORS,
    **quantize.OPERATORS,
    **random.OPERATORS,
    **recurrent.OPERATORS,
    **reduce.OPERATORS,
    **regions.OPERATORS,
    **resize.OPERATORS,
    **roi.OPERATORS,
    **select.OPERATORS,
    **sequence.OPERATORS,
    **shapes.OPERATORS,
    **signal.OPERATORS,
    **training.OPERATORS,
    **window.OPERATORS,
}

__all__ = ["OPERATORS"]
