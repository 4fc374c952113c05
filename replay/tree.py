"""The tree that this package, and the compiler beside it, lie in."""

from pathlib import Path

ROOT = str(Path(__file__).resolve().parent.parent)
