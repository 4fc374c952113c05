"""Runs at the start of every Python process of a captured program: PYTHONPATH leads here.

Cheap until the program imports `compiler.observe`; then every compile is recorded. Chains to the
`sitecustomize` that would have run without us. A capture never changes what a program does. It
imports nothing that Python has not imported by itself, and old Pythons can read it.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder

TYPE_CHECKING = False  # importing it would take longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

HERE = os.path.dirname(os.path.realpath(__file__))
VARIABLE = "KERNEL_REPLAY_CAPTURE"
WAITING = "compiler_observers"  # what `compiler.observe` looks for


def wait_for_the_compiler(captures: str) -> None:
    """Leave word where `compiler.observe` looks for it when it is imported."""
    word = type(sys)(WAITING)
    word.waiting = (_Waiting({VARIABLE: captures}),)  # type: ignore[attr-defined]  # the module is made here
    sys.modules[WAITING] = word


class _Waiting:
    """Stands for the observer, which is imported, with what it needs, at the first event."""

    def __init__(self, begun_with: dict[str, str]) -> None:
        self._begun_with = begun_with  # of the environment, which the program may change
        self._observers: list[Callable[[object], None]] = []

    def __call__(self, event: object) -> None:
        self._observer()(event)

    def begin_batch(self) -> None:
        getattr(self._observer(), "begin_batch", _nothing)()

    def end_batch(self) -> None:
        getattr(self._observer(), "end_batch", _nothing)()

    def _observer(self) -> Callable[[object], None]:
        if not self._observers:
            self._observers.append(_observer(self._begun_with))
        return self._observers[0]


def _nothing() -> None:
    """What a stand-in does for an observer that could not be made."""


def _observer(begun_with: dict[str, str]) -> Callable[[object], None]:
    environ = os.environ  # noqa: TID251  # this is the file that may
    try:
        module = _ours("replay.capture.observer")
        observer: Callable[[object], None] = module.observer(begun_with, environ)
        return observer
    except Exception as error:  # noqa: BLE001  # the program goes on; what is lost is counted
        _ours("replay.capture.foreign").pass_on(error)
        for capture in _ours("replay.capture.environment").captures(begun_with):
            _note(capture.losses, error)
        return lambda event: None


def _note(losses: str, error: Exception) -> None:
    try:
        with open(losses, "a", encoding="utf-8", errors="replace") as file:
            file.write(f"- {type(error).__name__}: {' '.join(str(error).split())}\n")
    except OSError:
        pass  # nobody captures any more


def _ours(name: str) -> ModuleType:
    """From the tree of this file, which need not be installed where the program runs. A directory
    of the program called `corpus`, as the one that is written to may be, must not stand before."""
    root = os.path.dirname(os.path.dirname(HERE))
    sys.path.insert(0, root)
    try:
        return import_module(name)
    finally:
        sys.path.remove(root)


def _chain() -> None:
    """Run the sitecustomize that we stand before, as if we were not here."""
    places = [place for place in sys.path if os.path.realpath(place or ".") != HERE]
    spec = PathFinder.find_spec("sitecustomize", places)
    if spec is None or spec.loader is None:
        return
    module = import_module("importlib.util").module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_found = os.environ.get(VARIABLE)  # noqa: TID251  # this is the file that may
if _found is not None:
    wait_for_the_compiler(_found)
_chain()
