"""Searching for opts on behalf of a compile: by the model, or by runs on the device."""

from compiler.tuning.judging import ByModel

__all__ = ["ByModel"]
