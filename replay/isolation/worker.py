"""The child: reads calls from one pipe, answers on another, and dies when its parent does.

It imports `replay` and `corpus` from the parent's tree, and the compiler under test from wherever
Setup says, so the same worker serves this checkout, a copy of it and an older revision.
"""

import ctypes
import gc
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import cache
from importlib.machinery import PathFinder

import msgspec

from replay.isolation import sandbox
from replay.isolation.wire import (
    WIRE,
    Call,
    Done,
    OutOfMemory,
    Raised,
    Ready,
    Setup,
    read_frame,
    write_frame,
)
from replay.tree import ROOT

START = (
    f"import sys; sys.path.insert(0, {ROOT!r}); "
    "from replay.isolation.worker import main; sys.exit(main(sys.argv[1:]))"
)
_PR_SET_PDEATHSIG = 1
_NEARLY_ALL = 7 / 8
_COLLECT_AFTER = 200_000  # objects: compiles make many and leave no cycles; looking costs a tenth


def main(arguments: Sequence[str]) -> int:
    """Serve calls until the parent closes its end. Arguments: two descriptors, the parent's id."""
    incoming, outgoing, parent = (int(word) for word in arguments)
    _die_with(parent)
    body = read_frame(incoming)
    if body is None:
        return 0
    setup = msgspec.msgpack.decode(body, type=Setup)
    _import_from(setup.paths or (ROOT,), setup.imports)
    if setup.subject is not None:
        importlib.import_module("replay.recompile").use_subject(setup.subject)
    held = sandbox.enter(setup.work_dir, setup.memory_bytes)
    for call in setup.warm_up:
        _answer(call)  # what fails here fails again in the job that needs it
    gc.freeze()  # what is imported stays
    gc.set_threshold(_COLLECT_AFTER)
    write_frame(outgoing, Ready(wire=WIRE, sandbox=held, peak_bytes=sandbox.peak_bytes()))
    decode = msgspec.msgpack.Decoder(Call).decode
    while (body := read_frame(incoming)) is not None:
        write_frame(outgoing, _answer(decode(body), setup.memory_bytes or 0))
    return 0


def _answer(call: Call, limit_bytes: int = 0) -> Done | Raised | OutOfMemory:
    before = sandbox.data_bytes()
    try:
        return Done(_function(call.function)(call.payload))
    except MemoryError as error:  # whose traceback holds what it has filled
        taken = sandbox.data_bytes() - before
        is_own = 0 < _NEARLY_ALL * limit_bytes < taken
        return OutOfMemory(f"MemoryError {error}".rstrip(), is_own)
    except Exception as error:  # noqa: BLE001  # one bad kernel may cost only itself
        return Raised(_one_line(error), traceback.format_exc())


@cache
def _function(name: str) -> Callable[[bytes], bytes]:
    module, _, attribute = name.partition(":")
    found: Callable[[bytes], bytes] = getattr(importlib.import_module(module), attribute)
    return found


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:500]}" if text else type(error).__name__


def _import_from(paths: tuple[str, ...], modules: tuple[str, ...]) -> None:
    """Import what the first job would, with directories that no later import searches."""
    importlib.import_module("corpus")  # the parent's, before another tree is on the path
    sys.path.remove(ROOT)
    if paths != (ROOT,):
        sys.meta_path.insert(0, _NoStandIn())
    sys.path[:0] = paths
    for module in modules:
        importlib.import_module(module)
    del sys.path[: len(paths)]


class _NoStandIn:
    """A module that the compiler under test lacks is missing: the hook of an editable install would
    hand out that of another tree."""

    def find_spec(self, name: str, path: Sequence[str] | None, _: object = None) -> None:
        """Find nothing; refuse what is not where its package is."""
        if name.startswith("compiler.") and PathFinder.find_spec(name, path) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _die_with(parent: int) -> None:
    """Have the kernel end this process with its parent, however busy either is."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before we asked
        os._exit(1)
