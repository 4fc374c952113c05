"""The `replay` command. It loads one module per command; the table says which.

To add a command: a module in replay/commands with a `command`, and a line in COMMANDS.
"""

from __future__ import annotations

import importlib
import os
import sys

from replay.capture.launch import launch

TYPE_CHECKING = False  # importing it would keep the program of a capture waiting
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("demo", "replay.commands.demo", "Show the main job end to end on a real model."),
    ("capture", "replay.commands.capture", "Run a program and record every kernel it compiles."),
    ("run", "replay.commands.run", "Compile a corpus again and say what changed."),
    ("merge", "replay.commands.merge", "Put the reports of shards together."),
    ("list", "replay.commands.list", "Print the records of a corpus, one a line."),
    ("show", "replay.commands.show", "Print all of one record."),
    ("diff", "replay.commands.diff", "Show how a kernel changed, or how two records differ."),
    ("verify", "replay.commands.verify", "Run kernels and check their numbers."),
    ("accept", "replay.commands.accept", "Approve differences, or make them the baseline."),
    ("corpus", "replay.commands.corpus", "Look after a corpus: stat, check, merge, export, ..."),
    ("bisect", "replay.commands.bisect", "Name the commit that changed or broke each kernel."),
    ("blame", "replay.commands.blame", "Name the pass, rule and opt that make a kernel wrong."),
    ("reduce", "replay.commands.reduce", "Make a failing record a small script."),
    ("fuzz", "replay.commands.fuzz", "Try random kernels and opts until something is wrong."),
    ("calibrate", "replay.commands.calibrate", "Measure which deliberate faults are seen."),
    ("doctor", "replay.commands.doctor", "Say what works here, and what to install for the rest."),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. 0 pass, 1 gate failed, 2 usage, 3 could not replay, 130 interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    environ = dict(os.environ)
    _open_streams()
    program = launch(words, environ)  # before click is imported: what it starts need not wait
    code: int = importlib.import_module("replay.front").run(words, COMMANDS, environ, program)
    if program is not None and arguments is None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # all is closed; taking the interpreter apart would keep the caller waiting
    return code


def _open_streams() -> None:
    """Where one is closed, nobody hears what is said there; the work is done all the same."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  # for as long as we run


if __name__ == "__main__":
    sys.exit(main())
