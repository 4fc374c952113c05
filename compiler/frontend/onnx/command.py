"""What `python -m compiler.onnx` does once its arguments are read."""

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from compiler.errors import ModelError
from compiler.frontend.launches import counting_launches
from compiler.frontend.onnx.check import nodes_in
from compiler.frontend.onnx.feeds import default_feed
from compiler.frontend.onnx.model import Input, Model
from compiler.frontend.onnx.reference import evaluate_reference
from compiler.frontend.onnx.run import run
from compiler.frontend.storage import Array
from compiler.frontend.symbolic import Variable
from compiler.observe import CompileEvent, CompileStarted, observing

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
class Result:
    """What a model gave for one choice of sizes, and what was compiled and launched for it."""

    sizes: Mapping[str, int]  # of dimensions that have variables
    compiled: int
    launched: int
    outputs: tuple[Output, ...]

    @property
    def is_right(self) -> bool:
        return all(output.is_right for output in self.outputs)

    def lines(self) -> list[str]:
        """Sizes, where there was a choice, and the outputs."""
        listed = ", ".join([f"{name} = {size}" for name, size in self.sizes.items()])
        head = [f"{listed}: {self.compiled or 'no'} kernels compiled"] if self.sizes else []
        return [*head, *[output.line() for output in self.outputs]]

    def count(self, model: Model) -> str:
        """How large the model is, and how many kernels that takes."""
        nodes = sum(1 for _ in nodes_in(model.graph))
        opset = model.opsets.get("", 1)
        kernels = f"{self.launched} kernels launched, {self.compiled} compiled"
        return f"opset {opset}, {nodes} nodes, {kernels}"


@dataclass(frozen=True, slots=True)
class Feeds:
    """What the user says of the inputs; the rest is random. A range makes a size symbolic."""

    arrays: Path | None
    dims: Mapping[str, int | range]
    values: Mapping[str, float]

    @property
    def variables(self) -> dict[str, Variable]:
        """Those of the dimensions with a range."""
        return {
            name: Variable(_identifier(name), size.start, size.stop - 1)
            for name, size in self.dims.items()
            if isinstance(size, range)
        }

    def choices(self, model: Model) -> list[dict[str, int]]:
        """Ranges at their least, a middle and their greatest value; or as arrays are fed."""
        ranges = {name: size for name, size in self.dims.items() if isinstance(size, range)}
        fixed = {name: size for name, size in self.dims.items() if isinstance(size, int)}
        if self.arrays is not None:
            given = _read(self.arrays)
            fed = {dim: n for item in model.inputs for dim, n in _dims_of(item, given)}
            return [fixed | {name: fed.get(name, size.start) for name, size in ranges.items()}]
        ends = [
            fixed | {name: size[at(len(size))] for name, size in ranges.items()}
            for at in (lambda count: 0, lambda count: count // 2, lambda count: count - 1)
        ]
        return [choice for number, choice in enumerate(ends) if choice not in ends[:number]]

    def of(self, model: Model, dims: Mapping[str, int]) -> dict[str, Array]:
        """An array for each input. Raises ModelError for names that are none."""
        given = {} if self.arrays is None else _read(self.arrays)
        found = default_feed(model, dims, given)
        for name, number in self.values.items():
            if name not in found:
                raise ModelError(f"value {name}: the inputs are {', '.join(found)}")
            found[name] = _filled(name, found[name], number)
        return found


def _filled(name: str, like: Array, number: float) -> Array:
    if like.dtype.kind in "iu" and not (
        number.is_integer() and np.iinfo(like.dtype).min <= number <= np.iinfo(like.dtype).max
    ):
        raise ModelError(f"value {name}={number:g}: {like.dtype} does not hold it")
    return np.full_like(like, number)


def run_model(
    model: Model, feeds: Feeds, target: str, *, compare: bool, save: Path | None
) -> Iterator[Result]:
    """Feed and run a model; compare and save its outputs if asked to."""
    choices = feeds.choices(model)
    if save is not None and len(choices) > 1:
        raise ModelError(f"save {save}: {len(choices)} sizes are run, give one or an array")
    for dims in choices:
        arrays = feeds.of(model, dims)
        compiled: list[CompileEvent] = []
        with observing(partial(_note_start, compiled)), counting_launches() as launches:
            outputs = run(model, arrays, target, variables=feeds.variables)
        if save is not None:
            _write(save, outputs)
        expected = evaluate_reference(model, arrays) if compare else {}
        errors = {name: relative_error(outputs[name], array) for name, array in expected.items()}
        found = [
            Output(name, str(array.dtype), array.shape, errors.get(name))
            for name, array in outputs.items()
        ]
        sizes = {name: size for name, size in dims.items() if name in feeds.variables}
        yield Result(sizes, len(compiled), launches.count, tuple(found))


def _note_start(into: list[CompileEvent], event: CompileEvent) -> None:
    if isinstance(event, CompileStarted):
        into.append(event)


def _identifier(name: str) -> str:
    """The name of a dimension as that of a variable."""
    text = "".join([letter if letter.isascii() and letter.isalnum() else "_" for letter in name])
    return text if text.isidentifier() else f"_{text}"


def _dims_of(item: Input, given: Mapping[str, Array]) -> list[tuple[str, int]]:
    """The open dimensions of an input, and their sizes in the array that is fed."""
    if item.name not in given:
        return []
    pairs = zip(item.shape or (), given[item.name].shape, strict=False)
    return [(dim, size) for dim, size in pairs if isinstance(dim, str)]


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
