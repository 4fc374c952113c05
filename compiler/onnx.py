"""Run an ONNX model: python -m compiler.onnx MODEL.onnx [--compare] [--save out.npz]."""

import sys
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

from compiler.errors import CompilerError
from compiler.frontend.onnx import default_feed, evaluate_reference, load, run

MAX_ERROR = 1e-4


def _dims(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, int]:
    """NAME=N, any number of times."""
    sizes: dict[str, int] = {}
    for value in values:
        name, _, size = value.rpartition("=")
        if not name or not size.isdigit():
            raise click.BadParameter(f"{value!r} is not NAME=N, for example batch=4")
        sizes[name] = int(size)
    return sizes


@click.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--feed",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Arrays by input name; inputs that are not in it get seeded random numbers.",
)
@click.option(
    "--dim",
    "dims",
    metavar="NAME=N",
    multiple=True,
    callback=_dims,
    help="The size of a named dimension.",
)
@click.option(
    "--target",
    type=click.Choice(["llvm", "opencl", "reference"]),
    default="llvm",
    show_default=True,
)
@click.option("--compare", is_flag=True, help="Compare with onnx's own reference evaluator.")
@click.option(
    "--save", type=click.Path(dir_okay=False, path_type=Path), help="Write the outputs, as .npz."
)
def main(
    model: Path,
    feed: Path | None,
    dims: dict[str, int],
    target: str,
    *,
    compare: bool,
    save: Path | None,
) -> None:
    """Run MODEL and print what its outputs are; exit 1 if they are not the reference's."""
    try:
        is_right = _run(model, feed, dims, target, compare=compare, save=save)
    except CompilerError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(3)
    sys.exit(0 if is_right else 1)


def _run(
    path: Path,
    feed_path: Path | None,
    dims: dict[str, int],
    target: str,
    *,
    compare: bool,
    save: Path | None,
) -> bool:
    model = load(path)
    given = {} if feed_path is None else dict(np.load(feed_path, allow_pickle=False))
    feed = default_feed(model, dims, given)
    outputs = run(model, feed, target)
    if save is not None:
        np.savez(save, allow_pickle=False, **outputs)
    expected = evaluate_reference(model, feed) if compare else {}
    errors = {name: relative_error(outputs[name], array) for name, array in expected.items()}
    for name, array in outputs.items():
        line = f"{name} {array.dtype}{list(array.shape)}"
        click.echo(f"{line} max|a-b|/max|b| {errors[name]:.3g}" if compare else line)
    return all(error <= MAX_ERROR for error in errors.values())


def relative_error(found: npt.NDArray[np.generic], wanted: npt.NDArray[np.generic]) -> float:
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


if __name__ == "__main__":
    main()
