"""What `python -m compiler.onnx` does once its arguments are read."""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compiler.errors import ModelError
from compiler.frontend.onnx.decode import load
from compiler.frontend.onnx.feeds import default_feed
from compiler.frontend.onnx.model import Model
from compiler.frontend.onnx.reference import evaluate_reference
from compiler.frontend.onnx.run import run
from compiler.frontend.storage import Array

MAX_ERROR = 1e-4


@dataclass(frozen=True, slots=True)
class Output:
    """One output of a model; `error` is None where nothing was compared."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    error: float | None

    @property
    def is_right(self) -> bool:
        return self.error is None or self.error <= MAX_ERROR

    def line(self) -> str:
        """name dtype[shape], and how far it is from the reference."""
        head = f"{self.name} {self.dtype}{list(self.shape)}"
        return head if self.error is None else f"{head} max|a-b|/max|b| {self.error:.3g}"


@dataclass(frozen=True, slots=True)
class Feeds:
    """What the user says of the inputs; the rest is random."""

    arrays: Path | None
    dims: Mapping[str, int]
    values: Mapping[str, float]

    def of(self, model: Model) -> dict[str, Array]:
        """An array for each input. Raises ModelError for names that are none."""
        given = {} if self.arrays is None else _read(self.arrays)
        found = default_feed(model, self.dims, given)
        for name, number in self.values.items():
            if name not in found:
                raise ModelError(f"value {name}: the inputs are {', '.join(found)}")
            found[name] = np.full_like(found[name], number)
        return found


def run_model(
    path: Path, feeds: Feeds, target: str, *, compare: bool, save: Path | None
) -> list[Output]:
    """Load, feed and run a model; compare and save its outputs if asked to."""
    model = load(path)
    arrays = feeds.of(model)
    outputs = run(model, arrays, target)
    if save is not None:
        _write(save, outputs)
    expected = evaluate_reference(model, arrays) if compare else {}
    errors = {name: relative_error(outputs[name], array) for name, array in expected.items()}
    return [
        Output(name, str(array.dtype), array.shape, errors.get(name))
        for name, array in outputs.items()
    ]


def _read(path: Path) -> dict[str, Array]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, ValueError, TypeError, zipfile.BadZipFile) as error:
        raise ModelError(f"feed {path}: is no .npz of arrays, {error}") from None


def _write(path: Path, outputs: Mapping[str, Array]) -> None:
    try:
        np.savez(path, allow_pickle=False, **outputs)
    except OSError as error:
        raise ModelError(f"save {path}: {error.strerror}") from None


def relative_error(found: Array, wanted: Array) -> float:
    """max|a - b| / max|b|: 0 where all agree, inf where shapes or non-finite elements do not."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return float("inf")
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    if not np.isfinite(a[finite]).all():
        return float("inf")
    distance = float(np.abs(a[finite] - b[finite]).max(initial=0.0))
    largest = float(np.abs(b[finite]).max(initial=0.0))
    return distance / largest if largest else (0.0 if distance == 0.0 else float("inf"))
