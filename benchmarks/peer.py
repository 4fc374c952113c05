"""tinygrad 0.10.2 on the same programs: `PEER/bin/python -m benchmarks.peer TARGET`.

Runs in an environment that has tinygrad and NumPy, and nothing of ours: see README.md.
"""

import gc
import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks.programs import PROGRAMS

_RENDERERS = {
    "llvm": ("tinygrad.renderer.llvmir", "LLVMRenderer"),
    "opencl": ("tinygrad.renderer.cstyle", "OpenCLRenderer"),
}
_NAMES = {"swapaxes": "transpose"}


class Wrapped:
    """A tinygrad tensor under the names of NumPy that the programs use."""

    def __init__(self, data: Any) -> None:  # noqa: ANN401  # an array, or a tensor of tinygrad
        tensor = import_module("tinygrad").Tensor
        self.tensor = data if isinstance(data, tensor) else tensor(data, device="CPU")

    def __getattr__(self, name: str) -> Callable[..., "Wrapped"]:
        function = getattr(self.tensor, _NAMES.get(name, name))

        def call(*arguments: Any, **options: Any) -> "Wrapped":  # noqa: ANN401  # an array of either package
            if "keepdims" in options:
                options["keepdim"] = options.pop("keepdims")
            if name == "var":
                options["correction"] = 0
            return Wrapped(function(*map(_unwrap, arguments), **options))

        return call

    @property
    def T(self) -> "Wrapped":  # noqa: N802  # NumPy's name
        return Wrapped(self.tensor.transpose())

    @staticmethod
    def concat(parts: "tuple[Wrapped, ...]", axis: int) -> "Wrapped":
        first, *rest = [part.tensor for part in parts]
        return Wrapped(first.cat(*rest, dim=axis))

    def __getitem__(self, index: Any) -> "Wrapped":  # noqa: ANN401  # an array of either package
        return Wrapped(self.tensor[index])

    def __add__(self, other: Any) -> "Wrapped":  # noqa: ANN401  # an array of either package
        return Wrapped(self.tensor + _unwrap(other))

    def __sub__(self, other: Any) -> "Wrapped":  # noqa: ANN401  # an array of either package
        return Wrapped(self.tensor - _unwrap(other))

    def __mul__(self, other: Any) -> "Wrapped":  # noqa: ANN401  # an array of either package
        return Wrapped(self.tensor * _unwrap(other))

    def __matmul__(self, other: Any) -> "Wrapped":  # noqa: ANN401  # an array of either package
        return Wrapped(self.tensor @ _unwrap(other))


def _unwrap(value: Any) -> Any:  # noqa: ANN401  # an array of either package
    return value.tensor if isinstance(value, Wrapped) else value


def asts() -> list[Any]:
    """The distinct kernels of the programs, in order."""
    sink = import_module("tinygrad.ops").Ops.SINK
    values = [value for program in PROGRAMS for value in program(Wrapped)]
    items = [item for value in values for item in value.tensor.schedule()]
    return list(dict.fromkeys([item.ast for item in items if item.ast.op is sink]))


def main(target: str) -> None:
    """Compile each kernel to source, with the opts that tinygrad chooses."""
    module, name = _RENDERERS[target]
    renderer = getattr(import_module(module), name)()
    get_kernel = import_module("tinygrad.engine.realize").get_kernel
    kernels = asts()
    gc.collect()
    started = time.process_time()
    for kernel in kernels:
        get_kernel(renderer, kernel).to_program()
    seconds = time.process_time() - started
    print(json.dumps({"kernels": len(kernels), "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
