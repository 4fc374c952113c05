"""From the lazy graph to the kernels that compute it."""

from compiler.frontend.schedule.build import Built, MemoryOf
from compiler.frontend.schedule.explain import explain
from compiler.frontend.schedule.lifetimes import Lifetimes, lifetimes, scratch_of
from compiler.frontend.schedule.plans import plan
from compiler.frontend.schedule.split import Reason, split, split_with_reasons

__all__ = [
    "Built",
    "Lifetimes",
    "MemoryOf",
    "Reason",
    "explain",
    "lifetimes",
    "plan",
    "scratch_of",
    "split",
    "split_with_reasons",
]
