"""Gradients by reverse mode: a lazy graph becomes the lazy graph of its derivatives.

`walk` goes from the result down; the tables in the other modules say how the gradient of a value
becomes that of its sources. To add an op: a line in the table of its kind.
"""

from compiler.frontend.gradient.walk import gradient

__all__ = ["gradient"]
