"""Programs of tensors, recorded once and run again without scheduling.

`trees` takes apart what goes in and out, `plan` makes launches over numbered buffers of what was
recorded, `program` is the function that users call.
"""

from compiler.frontend.jit.program import Jit, jit

__all__ = ["Jit", "jit"]
