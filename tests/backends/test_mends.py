"""Functions of arguments that a driver knows are what they are of the same arguments in memory."""

import numpy as np
import pytest

from compiler import Tensor, compiling
from compiler.backends import Argument, Launch, Program, Role, open_device
from compiler.backends.opencl.mends import mended
from compiler.errors import DeviceError
from compiler.ir import FLOAT32, FLOAT64
from compiler.target import OPENCL

POCL = "Portable Computing Language"
NAN, INF = float("nan"), float("inf")
X = np.array([1, 2, -3, 0.5, -2.25, 7, 0, 8])
ROUNDINGS = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint}
NEVER_NUMBERS = {
    "x + nan": lambda x: x + NAN,
    "x * nan": lambda x: x * NAN,
    "sqrt(-1)": lambda x: (x * 0 - 1).sqrt(),
    "inf - inf": lambda x: (x + INF) - INF,
    "where": lambda x: Tensor.where(x > 0, NAN, x),
}


@pytest.fixture(scope="module")
def opencl():
    try:
        return open_device("opencl")
    except DeviceError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("choose", [None, lambda ast, target: ()], ids=["vectors", "scalars"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("device", ["llvm", "opencl"])
def test_a_rounding_of_what_is_never_a_number_is_no_number(request, device, dtype, choose):
    if device == "opencl":
        request.getfixturevalue("opencl")
    x = Tensor(X.astype(dtype), device=device)
    with compiling(choose=choose):
        rows = [getattr(value(x), name)() for name in ROUNDINGS for value in NEVER_NUMBERS.values()]
        found = Tensor.stack(rows).numpy().reshape(len(ROUNDINGS), -1, len(X))
    for rounded, (*others, masked) in zip(ROUNDINGS.values(), found, strict=True):
        assert np.isnan(others).all()
        np.testing.assert_array_equal(masked, np.where(X > 0, NAN, rounded(X)).astype(dtype))


ARGUMENTS = (NAN, INF, -INF, 3e9, -1e19, 1e30, 0.5, 2.5, -2.5, -0.0)
CALLS = {  # what a function is of each of ARGUMENTS
    **{name: f"{name}({{}})" for name in ("trunc", "floor", "ceil", "rint", "exp2", "tanh")},
    "pow": "pow(TYPE(0.5), {})",
    "sqrt": "sqrt({})",
    "fma": "fma({0}, {0}, {0})",
}


@pytest.mark.parametrize("width", ["", "2", "4"])
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
def test_a_function_of_a_constant_is_what_it_is_of_a_loaded_value(opencl, dtype, width):
    base, lanes = {FLOAT32: "float", FLOAT64: "double"}[dtype], int(width or 1)
    kind, numbers = base + width, np.array(ARGUMENTS, str(dtype))
    suffix = "u" if dtype is FLOAT32 else "ul"
    known = [f"as_{base}({bits:#x}{suffix})" for bits in numbers.view(f"u{dtype.itemsize}")]
    results = []
    for spelled in (known, [f"x[{index}]" for index in range(len(numbers))]):
        vectors = [f"({kind})({value})" for value in spelled]
        values = [
            call.replace("TYPE", f"({kind})").format(vector)
            for call in CALLS.values()
            for vector in vectors
        ]
        results.append(_run(opencl, dtype, base, values, numbers, lanes))
    np.testing.assert_array_equal(*results)


def _run(device, dtype, base, values, numbers, lanes):
    store = f"vstore{lanes}({{}}, {{}}, y);" if lanes > 1 else "y[{1}] = {0};"
    body = "\n".join([store.format(value, index) for index, value in enumerate(values)])
    source = (
        "#pragma OPENCL FP_CONTRACT OFF\n"
        f"__kernel void k(__global {base} *restrict y, const __global {base} *restrict x)"
        f" {{\n{body}\n}}\n"
    )
    arguments = (
        Argument(Role.OUTPUT, "data0", dtype, len(values) * lanes),
        Argument(Role.INPUT, "data1", dtype, len(numbers)),
    )
    program = Program("k", source, OPENCL, arguments, Launch((1,)))
    y = device.allocate(dtype, len(values) * lanes)
    device.upload(y, np.full(len(values) * lanes, 7, str(dtype)))
    device.build(program)([y, device.wrap(numbers, dtype)])
    return device.download(y)


def test_a_source_with_none_of_the_functions_and_another_driver_are_left_alone():
    assert mended(POCL, "a[0] = sqrt(x);") == "a[0] = sqrt(x);"
    assert mended("NVIDIA CUDA", "a[0] = floor(x);") == "a[0] = floor(x);"


def test_lines_are_counted_from_the_first_of_the_source():
    assert mended(POCL, "a[0] = floor(x);").endswith("\n#line 1\na[0] = floor(x);")
