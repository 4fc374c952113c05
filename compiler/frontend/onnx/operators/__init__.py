"""Every supported operator by name. To add one: a function and a line in the table of its topic."""

from collections.abc import Mapping

from compiler.frontend.onnx.call import Operator
from compiler.frontend.onnx.operators import (
    elementwise,
    linalg,
    movement,
    normalize,
    reduce,
    shapes,
    window,
)

OPERATORS: Mapping[str, Operator] = {
    **elementwise.OPERATORS,
    **linalg.OPERATORS,
    **movement.OPERATORS,
    **normalize.OPERATORS,
    **reduce.OPERATORS,
    **shapes.OPERATORS,
    **window.OPERATORS,
}

__all__ = ["OPERATORS"]
