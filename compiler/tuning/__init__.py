"""Searching for opts on behalf of a compile: by the model, or by runs on the device."""

from compiler.tuning.judging import ByModel
from compiler.tuning.measured import search_by_time

__all__ = ["ByModel", "search_by_time"]
