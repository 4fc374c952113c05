"""Timing programs of one kernel against each other, in a child process that may die of them."""

from compiler.bench.bench import Bench

__all__ = ["Bench"]
