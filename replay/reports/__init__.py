"""Reports: one model, pure formats. To add one: a module with `render`, and a line in FORMATS."""

import importlib
from collections.abc import Callable

from replay.reports.model import Report

FORMATS: tuple[tuple[str, str], ...] = (
    # loaded when asked for: some libraries take long to import
    ("terminal", "replay.reports.terminal"),
    ("json", "replay.reports.json"),
    ("junit", "replay.reports.junit"),
    ("markdown", "replay.reports.markdown"),
    ("sarif", "replay.reports.sarif"),
    ("html", "replay.reports.html"),
    ("part", "replay.reports.part"),
)


def find_format(name: str) -> Callable[[Report], str] | None:
    """The function that renders a report as `name`, None where there is no such format."""
    for known, module in FORMATS:
        if known == name:
            render: Callable[[Report], str] = importlib.import_module(module).render
            return render
    return None
