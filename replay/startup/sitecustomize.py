"""Runs at the start of every Python process of a captured program: PYTHONPATH leads here.

Cheap until the program imports `compiler.observe`; then every compile is recorded. Chains to the
`sitecustomize` that would have run without us. A capture never changes what a program does.
"""

import contextlib
import importlib
import os
import sys
import time
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = str(Path(__file__).resolve().parent)
VARIABLE = "KERNEL_REPLAY_CAPTURE"
WATCHED = "compiler.observe"


class Watch:
    """A finder that finds nothing, but sees the module come."""

    def find_spec(self, name: str, path: Any, target: object = None) -> ModuleSpec | None:  # noqa: ANN401  # importlib's
        """Arrange for `subscribe` to be called once the module has run."""
        if name != WATCHED:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            subscribe(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]  # of this one loader
        return spec


def subscribe(observe: ModuleType) -> None:
    """Record every event of the compiler; what recording needs is imported at the first one."""
    recorders: list[Any] = []

    def record(event: object) -> None:
        if not recorders:
            recorders.extend(_recorders())
        for recorder in recorders:
            recorder(event)

    if hasattr(observe, "subscribe"):
        observe.subscribe(record)


def _recorders() -> list[Any]:
    environ = os.environ  # noqa: TID251  # this is the file that may
    try:
        return list(_capture_module().recorders(environ, time.time))
    except Exception as error:  # noqa: BLE001  # the program goes on; what is lost is counted
        for losses in _losses(environ.get(VARIABLE, "")):
            with contextlib.suppress(OSError), open(losses, "a", encoding="utf-8") as file:
                file.write(f"- {type(error).__name__}: {' '.join(str(error).split())}\n")
        return [lambda event: None]


def _capture_module() -> ModuleType:
    """From the tree of this file, which need not be installed where the program runs. A directory
    of the program called `corpus`, as the one that is written to may be, must not stand before."""
    root = str(Path(HERE).parent.parent)
    sys.path.insert(0, root)
    try:
        return importlib.import_module("replay.capture")
    finally:
        sys.path.remove(root)


def _losses(variable: str) -> list[str]:
    json = importlib.import_module("json")
    return [settings["losses"] for settings in json.loads(variable or "[]")]


def _chain() -> None:
    """Run the sitecustomize that we stand before, as if we were not here."""
    places = [place for place in sys.path if str(Path(place or ".").resolve()) != HERE]
    spec = PathFinder.find_spec("sitecustomize", places)
    if spec is None or spec.loader is None:
        return
    module = importlib.import_module("importlib.util").module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if VARIABLE in os.environ:  # noqa: TID251  # this is the file that may
    sys.meta_path.insert(0, Watch())
_chain()
