"""What a command knows of the world around it. Only cli.py reads it; commands get it as a value."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from replay.capture.launch import Program


@dataclass(frozen=True, slots=True)
class Invocation:
    environ: Mapping[str, str]
    directory: Path
    today: date
    is_debug: bool
    is_terminal: bool
    program: Program | None = None  # started before anything else, where the command is a capture
