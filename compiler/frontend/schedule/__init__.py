"""From the lazy graph to the kernels that compute it."""

from compiler.frontend.schedule.build import Built, MemoryOf
from compiler.frontend.schedule.split import split

__all__ = ["Built", "MemoryOf", "split"]
