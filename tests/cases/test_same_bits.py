"""The kernels of real models give the same bits on every backend under the same opts."""

from pathlib import Path

import numpy as np
import pytest

from compiler import compile_kernel, find_target, open_device
from compiler.errors import DeviceError
from compiler.frontend.dtypes import to_numpy
from compiler.frontend.onnx import default_feed, load
from compiler.frontend.onnx.evaluate import evaluate
from compiler.frontend.schedule import split
from compiler.frontend.storage import from_array, storage_of
from compiler.kernel import choose, from_ast
from compiler.options import DEFAULT
from tests.cases.schedules import chooser

MODELS = Path(__file__).parents[2] / ".models/speechmos/dnsmos_models"
TARGETS = ("llvm", "opencl")


def kernels(name):
    """The distinct kernels of a model and how many elements of which dtype their buffers have."""
    model = load(MODELS / f"{name}.onnx")
    feed = default_feed(model, {"N": 1})
    roots = evaluate(model, {name: from_array(a, "llvm") for name, a in feed.items()}, "llvm")
    found = {}
    for built in split(list(roots), storage_of):
        found.setdefault(built.ast, [(value.dtype, value.size) for value in built.buffers])
    return found.items()


def opts_for(ast):
    """LLVM's own choice where OpenCL may do the same, else upcasts wherever they are legal."""
    kernel, opencl = from_ast(ast), find_target("opencl")
    chosen = choose(kernel, find_target("llvm"), DEFAULT)
    for opt in chosen:
        if opt.why_illegal(kernel, opencl) is not None:
            return chooser("upcast")(ast, opencl)
        kernel = opt.apply(kernel)
    return chosen


def run(ast, opts, target, arrays, output):
    device = open_device(target)
    executable = device.build(compile_kernel(ast, device.target, DEFAULT, opts).program)
    buffers = [device.allocate(*output)]
    for array, dtype in arrays:
        buffers.append(device.allocate(dtype, array.size))
        device.upload(buffers[-1], array)
    executable(buffers, {})
    return device.download(buffers[0])


@pytest.mark.slow
@pytest.mark.skipif(not MODELS.is_dir(), reason="the models are fetched by `make setup`")
@pytest.mark.parametrize("name", ["model_v8", "sig", "bak_ovr"])
def test_every_kernel_of_a_model_gives_the_same_bits_on_llvm_and_opencl(name):
    try:
        open_device("opencl")
    except DeviceError as error:
        pytest.skip(str(error))
    random = np.random.default_rng(0)
    for ast, (output, *inputs) in kernels(name):
        arrays = [(random.normal(size=n).astype(to_numpy(dtype)), dtype) for dtype, n in inputs]
        for opts in ((), opts_for(ast)):
            first, second = [run(ast, opts, target, arrays, output) for target in TARGETS]
            assert first.tobytes() == second.tobytes(), opts
