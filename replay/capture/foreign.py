"""Errors that the program raised while it told of a compile: its signal handlers run anywhere.

A time limit of the program (`signal.alarm` and a handler that raises) may be up just then. What is
ours to forgive is ours alone, so such an error goes on to the program.
"""

from __future__ import annotations

import sys

_OURS = frozenset({"replay", "corpus", "compiler", "sitecustomize"})
_LIBRARIES = frozenset({"diskcache", "llvmlite", "msgspec", "numpy", "pyopencl", "zstandard"})
_KNOWN = _OURS | _LIBRARIES | sys.stdlib_module_names


def pass_on(error: BaseException) -> None:
    """Raise `error` again if code ran on the way to it that we never call.

    An import may go through finders of the program; where one fails it is we who lack a module.
    """
    trace = error.__traceback__
    while trace is not None and not isinstance(error, ImportError):
        module = trace.tb_frame.f_globals.get("__name__")
        if str(module).partition(".")[0] not in _KNOWN:
            raise error
        trace = trace.tb_next
