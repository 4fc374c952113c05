"""What a change does to the code of a kernel, in numbers: helped, hurt, affected.

Modules are imported when their names are first used: most replays find nothing to measure.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replay.metrics.compare import Summary, has_other_loops, summarize
    from replay.metrics.guard import LIMITS, guarded
    from replay.metrics.mca import find_tool, use_tool
    from replay.metrics.measure import compare_code, compare_sources, measured
    from replay.metrics.table import METRICS, Better, Metric, Needs

_MODULES = {
    "compare": "Summary has_other_loops summarize",
    "guard": "LIMITS guarded",
    "mca": "find_tool use_tool",
    "measure": "compare_code compare_sources measured",
    "table": "METRICS Better Metric Needs",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'replay.metrics' has no attribute {name!r}")
    return getattr(import_module(f"replay.metrics.{_HOMES[name]}"), name)


__all__ = [
    "LIMITS",
    "METRICS",
    "Better",
    "Metric",
    "Needs",
    "Summary",
    "compare_code",
    "compare_sources",
    "find_tool",
    "guarded",
    "has_other_loops",
    "measured",
    "summarize",
    "use_tool",
]
