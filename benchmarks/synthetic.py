"""Corpora to measure with: `python -m benchmarks.synthetic PATH RECORDS [--distinct N]`.

The kernels are those of small tensor programs at shapes drawn from a seed, each really compiled.
Beyond `--distinct` of them the same kernels come again under other names of the user's (the option
`name`, which is part of a question): every record is a question of its own, with the answer that
the compiler gives to it, and a corpus of a hundred thousand takes seconds instead of many minutes.
"""

import argparse
import random
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np

from compiler import (
    CompileEvent,
    CompileFinished,
    CompileOptions,
    CompileStarted,
    Tensor,
    compile_kernel,
    find_target,
    observing,
)
from compiler.frontend.schedule import split
from compiler.frontend.storage import storage_of
from compiler.ir import Node
from corpus import KernelRecord, open_writer
from replay.codec import finished_fields, started_record

TARGETS = ("llvm", "opencl")
_DTYPES = ("float32", "float32", "float64", "int32", "int64", "float16", "uint8")
_BATCH = 512
_NAME = "k_{:07d}"
_FIRST = _NAME.format(0)

Shape = tuple[int, ...]
Family = Callable[[random.Random, str], Tensor]


def elementwise(draw: random.Random, device: str) -> Tensor:
    shape, dtype = _shape(draw), draw.choice(_DTYPES)
    x, y = _numbers(device, shape, dtype), _numbers(device, shape, dtype)
    return draw.choice((x * y + x, x.maximum(y) - y, Tensor.where(x > y, x, y), (x - y) * 3))


def functions(draw: random.Random, device: str) -> Tensor:
    x = _numbers(device, _shape(draw), "float32")
    return draw.choice((x.exp(), x.sqrt(), x.tanh(), x.log2(), 1 / x))


def casts(draw: random.Random, device: str) -> Tensor:
    return _numbers(device, _shape(draw), draw.choice(_DTYPES)).astype(draw.choice(_DTYPES))


def reductions(draw: random.Random, device: str) -> Tensor:
    x = _numbers(device, _shape(draw), draw.choice(_DTYPES))
    axis = draw.randrange(len(x.shape))
    return draw.choice((x.sum(axis=axis), x.max(axis=axis), x.min(axis=axis)))


def products(draw: random.Random, device: str) -> Tensor:
    m, n, k = (draw.randrange(2, 80) for _ in range(3))
    return _numbers(device, (m, k), "float32") @ _numbers(device, (k, n), "float32")


def movements(draw: random.Random, device: str) -> Tensor:
    x = _numbers(device, (draw.randrange(2, 60), draw.randrange(2, 60)), draw.choice(_DTYPES))
    return draw.choice((x.transpose(1, 0) + 1, x[1:] * x[:-1], x[::-1] + x))


FAMILIES: tuple[Family, ...] = (
    elementwise,
    functions,
    casts,
    reductions,
    products,
    movements,
)


def asts(seed: int) -> Iterator[tuple[Node, str]]:
    """Distinct kernels without end, each with a backend."""
    draw, known = random.Random(seed), set[tuple[Node, str]]()
    while True:
        backend = draw.choice(TARGETS)
        value = draw.choice(FAMILIES)(draw, backend)
        for built in split([value.value], storage_of):  # what realize() would compile
            if (found := (built.ast, backend)) not in known:
                known.add(found)
                yield found


def records(distinct: int, total: int, seed: int = 1) -> Iterator[KernelRecord]:
    """`total` records of `distinct` kernels."""
    bases = [_record(ast, backend) for ast, backend in islice(asts(seed), min(distinct, total))]
    for number in range(total):
        yield _named(bases[number % len(bases)], _NAME.format(number))


def write(path: Path, distinct: int, total: int) -> None:
    """Write a corpus directory."""
    with open_writer(path) as writer:
        every = records(distinct, total)
        while batch := list(islice(every, _BATCH)):
            with writer.batch():
                for record in batch:
                    writer.add(record)


def _record(ast: Node, backend: str) -> KernelRecord:
    events: list[CompileEvent] = []
    options = CompileOptions(name=_FIRST)
    with observing(events.append):
        compile_kernel(ast, find_target(backend), options)
    started, finished = events[0], events[-1]
    assert isinstance(started, CompileStarted)
    assert isinstance(finished, CompileFinished)
    return msgspec.structs.replace(started_record(started), **finished_fields(finished))


def _named(record: KernelRecord, name: str) -> KernelRecord:
    """The same kernel under another name of the user's, with which its own begins."""
    assert record.source is not None
    assert record.name is not None
    return msgspec.structs.replace(
        record,
        options={**record.options, "name": name},
        name=record.name.replace(_FIRST, name),
        source=record.source.replace(_FIRST, name),
    )


def _numbers(device: str, shape: Shape, dtype: str) -> Tensor:
    return Tensor(np.ones(shape, dtype), device=device)


def _shape(draw: random.Random) -> Shape:
    return tuple(draw.randrange(1, 65) for _ in range(draw.randrange(1, 4)))


def main() -> None:
    """Write the corpus that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.synthetic")
    parser.add_argument("path", type=Path)
    parser.add_argument("records", type=int)
    parser.add_argument("--distinct", type=int, default=1000)
    given = parser.parse_args()
    write(given.path, given.distinct, given.records)


if __name__ == "__main__":
    main()
