"""Which commit changed a kernel, or broke it: all kernels at once, each commit compiled once."""

from replay.bisect.history import Commit, History, read_history
from replay.bisect.judging import Criterion
from replay.bisect.search import Cell, Found, Kind, Search
from replay.bisect.session import Bisected, Request, bisect

__all__ = [
    "Bisected",
    "Cell",
    "Commit",
    "Criterion",
    "Found",
    "History",
    "Kind",
    "Request",
    "Search",
    "bisect",
    "read_history",
]
