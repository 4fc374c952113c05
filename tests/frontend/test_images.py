"""Tensors whose kernels read and write images: the same numbers, and which buffers become one."""

import numpy as np
import pytest

from compiler import (
    CompileFinished,
    Tensor,
    compiling,
    find_target,
    observing,
    open_device,
    same_opts,
)
from compiler.errors import DeviceError
from compiler.frontend.images import place_images
from compiler.ir import Op, parse_node, toposort

COPY = """ir 1
%0 = BUFFER {dtype} slot=0 size={size}
%1 = BUFFER {dtype} slot=1 size={size}
%2 = LOAD {dtype} %1 view={view}
%3 = STORE void %0 %2 view={stored}
%4 = SINK void %3 axes={axes}
"""
IN_PLACE = """ir 1
%0 = BUFFER float32 slot=0 size=64
%1 = LOAD float32 %0 view=[(64):(1)]
%2 = NEG float32 %1
%3 = STORE void %0 %2 view=[(64):(1)]
%4 = SINK void %3 axes=(g0:64)
"""


@pytest.fixture(scope="module", autouse=True)
def a_device_with_images():
    try:
        device = open_device("opencl")
    except DeviceError as error:
        pytest.skip(str(error))
    why = device.why_unlike(find_target("opencl/pocl"))
    if why is not None:
        pytest.skip(why)


def array(*shape, dtype="float32"):
    return np.random.default_rng(1).integers(-3, 4, shape).astype(dtype)


def images_of(ast):
    return {node.attr[0]: node.attr[2] for node in toposort(ast) if node.op is Op.IMAGE}


PROGRAMS = {
    "matmul": lambda a: a @ a,
    "sum of rows": lambda a: a.sum(axis=1),
    "padded": lambda a: a.pad(((1, 1), (4, 4))) * 2,
    "transposed": lambda a: a.transpose((1, 0)) + a,
    "softmax of halves": lambda a: a.softmax(axis=1),
    "a chain": lambda a: ((a @ a) + a).sum(axis=0) * a,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_compute_the_same_with_images(name):
    given = array(8, 8, dtype="float16" if "halves" in name else "float32")
    program, events = PROGRAMS[name], []
    expected = program(Tensor(given, device="llvm")).numpy()
    with compiling(images=True), observing(events.append):
        found = program(Tensor(given, device="opencl")).numpy()
    assert np.allclose(found, expected, rtol=1e-3 if "halves" in name else 1e-6)
    finished = [event for event in events if isinstance(event, CompileFinished)]
    assert any(images_of(event.compiled.ast) for event in finished)


def test_a_kernel_with_images_is_of_a_target_that_has_them():
    events = []
    with compiling(images=True), observing(events.append):
        (Tensor(array(12, 16), device="opencl") * 3).realize()
    (event,) = [event for event in events if isinstance(event, CompileFinished)]
    assert event.compiled.target.capabilities.images
    assert "write_imagef(" in event.compiled.program.source


def test_a_device_without_images_is_not_asked_for_any():
    events = []
    with compiling(images=True), observing(events.append):
        (Tensor(array(12, 20), device="llvm") * 3).realize()
    (event,) = [event for event in events if isinstance(event, CompileFinished)]
    assert images_of(event.compiled.ast) == {}


FLAT = "(g0:{0})", "[({0}):(1)]", "[({0}):(1)]"
GRID = "(g0:{0},g1:{1})", "[({0},{1}):({2},{3})]", "[({0},{1}):({1},1)]"


@pytest.mark.parametrize(
    ("dtype", "form", "sizes", "widths"),
    [
        ("float32", GRID, (6, 16, 16, 1), {0: 24, 1: 24}),  # one axis, in effect
        ("int32", GRID, (6, 16, 16, 1), {}),
        ("float32", GRID, (6, 15, 15, 1), {}),
        ("float32", GRID, (6, 16, 1, 6), {0: 4}),  # columns of 6 elements
        ("float32", GRID, (8, 16, 1, 8), {0: 4, 1: 2}),
        ("float16", FLAT, (1 << 18,), {0: 8192, 1: 8192}),
        ("float32", FLAT, (4 * 8209,), {}),  # a prime number of pixels, too many for a row
    ],
)
def test_buffers_that_are_accessed_by_pixel_become_images(dtype, form, sizes, widths):
    axes, view, stored = [part.format(*sizes) for part in form]
    size = int(np.prod(sizes[:2]))
    text = COPY.format(dtype=dtype, size=size, view=view, stored=stored, axes=axes)
    assert images_of(place_images(parse_node(text))) == widths


def test_what_a_kernel_reads_and_writes_stays_a_buffer():
    root = parse_node(IN_PLACE)
    assert place_images(root) is root


@pytest.mark.parametrize("targets", [(), ("llvm", "opencl")])
def test_pinned_opts_give_the_same_bits_with_images_and_without(targets):
    given, found = array(8, 8) * np.float32(0.3), []
    for device, images in (("opencl", True), ("llvm", False)):
        with compiling(choose=same_opts(*targets), images=images):
            x = Tensor(given, device=device)
            found.append(((((x @ x) + x).sum(axis=0)) * x).numpy())
    assert found[0].tobytes() == found[1].tobytes()
