"""Searching for opts: which may come next, what a kernel costs, and a beam over both."""

from compiler.kernel.search.beam import Finalist, Judge, Lowered, Searched, beam_search
from compiler.kernel.search.candidates import candidates, starts
from compiler.kernel.search.model import cycles

__all__ = [
    "Finalist", "Judge", "Lowered", "Searched", "beam_search", "candidates", "cycles", "starts",
]  # fmt: skip
