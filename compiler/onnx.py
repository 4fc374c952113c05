"""Run an ONNX model: python -m compiler.onnx MODEL.onnx [--compare] [--save out.npz]."""

import re
import sys
from importlib import import_module
from pathlib import Path

import click

from compiler.errors import CompilerError

_NUMBER = re.compile(r"[0-9]{1,18}")
TARGETS = ("llvm", "opencl", "reference")
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def _dims(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, int | range]:
    """NAME=N or NAME=LOW..HIGH, any number of times."""
    sizes: dict[str, int | range] = {}
    for value in values:
        name, _, size = value.rpartition("=")
        numbers = size.split("..")
        if not name or len(numbers) > 2 or not all(map(_NUMBER.fullmatch, numbers)):
            example = "for example batch=4 or batch=1..64"
            raise click.BadParameter(f"{value!r} is not NAME=N or NAME=LOW..HIGH, {example}")
        low, high = int(numbers[0]), int(numbers[-1])
        if low > high:
            raise click.BadParameter(f"{value!r}: the range is empty")
        if name in sizes:
            raise click.BadParameter(f"{name!r} is given twice")
        sizes[name] = low if len(numbers) == 1 else range(low, high + 1)
    return sizes


def _values(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, float]:
    """NAME=NUMBER, any number of times."""
    numbers: dict[str, float] = {}
    for value in values:
        name, _, number = value.rpartition("=")
        try:
            numbers[name] = float(number) if name else float("nan")
        except ValueError:
            name = ""
        if not name:
            raise click.BadParameter(f"{value!r} is not NAME=NUMBER, for example rate=16000")
    return numbers


@click.command()
@click.argument("model", type=FILE)
@click.option(
    "--feed",
    type=FILE,
    help="Arrays by input name, as .npz; other inputs get seeded random numbers.",
)
@click.option(
    "--dim",
    "dims",
    metavar="NAME=N",
    multiple=True,
    callback=_dims,
    help="The size of a dimension that the model leaves open; 2 otherwise. NAME=LOW..HIGH makes it "
    "symbolic: compiled once, run for the least, a middle and the greatest size.",
)
@click.option(
    "--value",
    "values",
    metavar="NAME=NUMBER",
    multiple=True,
    callback=_values,
    help="The number that fills an input, for inputs that are settings.",
)
@click.option("--target", type=click.Choice(TARGETS), default="llvm", show_default=True)
@click.option(
    "--count", is_flag=True, help="Print the model's size, and how many kernels it takes."
)
@click.option("--compare", is_flag=True, help="Compare with onnx's own reference evaluator.")
@click.option(
    "--save", type=click.Path(dir_okay=False, path_type=Path), help="Write the outputs, as .npz."
)
def main(
    model: Path,
    feed: Path | None,
    dims: dict[str, int | range],
    values: dict[str, float],
    target: str,
    *,
    count: bool,
    compare: bool,
    save: Path | None,
) -> None:
    """Run MODEL and print what its outputs are; exit 1 if they are not the reference's."""
    package = import_module("compiler.frontend.onnx")  # --help does without onnx
    command = import_module("compiler.frontend.onnx.command")
    try:
        sizes = command.Feeds(feed, dims, values)
        is_right = True
        loaded = package.load(model)
        for result in command.run_model(loaded, sizes, target, compare=compare, save=save):
            is_right = is_right and result.is_right
            lines = [*result.lines(), *([result.count(loaded)] if count else [])]
            click.echo("\n".join(lines))
    except CompilerError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(3)
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
