"""Images on a device: they follow their buffers, and buffers follow them, whoever writes."""

import numpy as np
import pytest

from compiler import compile_kernel, find_target
from compiler.errors import BuildError, DeviceError
from compiler.ir import FLOAT16, FLOAT32, parse_node

POCL = find_target("opencl/pocl")
DOUBLE = """ir 1
%0 = {out} float32 slot=0 size=64{out_width}
%1 = {read} float32 slot=1 size=64{read_width}
%2 = LOAD float32 %1 view=[(64):(1)]
%3 = ADD float32 %2 %2
%4 = STORE void %0 %3 view=[(64):(1)]
%5 = SINK void %4 axes=(g0:64)
"""
HALVES = """ir 1
%0 = IMAGE float16 slot=0 size={size} width={width}
%1 = IMAGE float16 slot=1 size={size} width={width}
%2 = LOAD float16 %1 view=[({size}):(1)]
%3 = STORE void %0 %2 view=[({size}):(1)]
%4 = SINK void %3 axes=(g0:{size})
"""
ONES = np.ones(64, np.float32)


@pytest.fixture(scope="module")
def device(opencl):
    if not opencl.device.handle.image_support:
        pytest.skip(f"{opencl.device.id} has no images")
    return opencl.device


@pytest.fixture(scope="module")
def double(device):
    """Executables that double what they read, by what they write and read: an image or a buffer.

    A number is the width of an image.
    """
    built = {}
    for out, read in ((4, 4), (0, 4), (4, 0), (0, 0), (8, 8)):
        text = DOUBLE.format(
            out="IMAGE" if out else "BUFFER",
            out_width=f" width={out}" if out else "",
            read="IMAGE" if read else "BUFFER",
            read_width=f" width={read}" if read else "",
        )
        built[out, read] = device.build(compile_kernel(parse_node(text), POCL).program)
    return built


def test_an_image_and_a_buffer_of_the_same_elements_follow_each_other(device, double):
    first, second = device.wrap(ONES, FLOAT32), device.allocate(FLOAT32, 64)
    double[4, 4]([second, first])  # 2
    double[0, 4]([first, second])  # 4
    double[4, 0]([second, first])  # 8
    double[8, 8]([first, second])  # 16, of other rows
    double[0, 0]([second, first])  # 32
    double[4, 4]([first, second])  # 64
    assert np.array_equal(device.download(first), 64 * ONES)
    assert np.array_equal(device.download(second), 32 * ONES)


def test_an_upload_reaches_an_image_that_was_made_before(device, double):
    source, target = device.wrap(ONES, FLOAT32), device.allocate(FLOAT32, 64)
    double[4, 4]([target, source])
    device.upload(source, 5 * ONES)
    double[4, 4]([target, source])
    assert np.array_equal(device.download(target), 10 * ONES)


def test_images_of_parts_of_one_buffer_do_not_hide_what_others_write(device, double):
    whole = device.wrap(np.concatenate([ONES, 3 * ONES]), FLOAT32)
    low, high = device.view(whole, 0, 64), device.view(whole, 64, 64)
    double[4, 4]([low, high])
    assert np.array_equal(device.download(whole), np.concatenate([6 * ONES, 3 * ONES]))
    double[0, 0]([low, high])
    device.upload(whole, np.concatenate([ONES, 7 * ONES]))
    double[4, 4]([low, high])
    assert np.array_equal(device.download(whole), np.concatenate([14 * ONES, 7 * ONES]))


def test_a_view_of_a_buffer_sees_what_its_image_holds(device, double):
    source, target = device.wrap(ONES, FLOAT32), device.allocate(FLOAT32, 64)
    double[4, 4]([target, source])
    part = device.view(target, 0, 32)
    assert np.array_equal(device.download(part), 2 * ONES[:32])


def test_pixels_that_a_kernel_does_not_write_keep_what_they_held(device):
    text = DOUBLE.format(out="IMAGE", out_width=" width=4", read="BUFFER", read_width="")
    text = text.replace("%0 %3 view=[(64):(1)]", "%0 %3 view=[(64):(1)?(16:48)]")
    program = compile_kernel(parse_node(text), POCL).program
    source, target = device.wrap(ONES, FLOAT32), device.wrap(9 * ONES, FLOAT32)
    device.build(program)([target, source])
    expected = np.concatenate([np.full(16, 9), np.full(32, 2), np.full(16, 9)])
    assert np.array_equal(device.download(target), expected)


def test_an_image_that_is_too_wide_is_refused_in_one_line(device):
    width = 1 + device.handle.image2d_max_width
    root = parse_node(HALVES.format(size=4 * width, width=width))
    executable = device.build(compile_kernel(root, POCL).program)
    held = device.wrap(np.zeros(4 * width, np.float16), FLOAT16)
    with pytest.raises(DeviceError, match=f"opencl: an image of {width} x 1 pixels, the device"):
        executable([device.allocate(FLOAT16, 4 * width), held])


def test_a_device_without_images_says_so(device):
    class Blind:
        """The handle of a device that has everything but images."""

        image_support = False

        def __getattr__(self, name):
            return getattr(device.handle, name)

    blind = type(device)(device.id, Blind(), *[
        getattr(device, name) for name in ("context", "queue", "options", "process")
    ])  # fmt: skip
    program = compile_kernel(parse_node(HALVES.format(size=64, width=4)), POCL).program
    with pytest.raises(BuildError, match=r"takes images, .* has none"):
        blind.build(program)


def test_a_view_of_a_fresh_buffer_hides_nothing_that_is_written_through_it(device, double):
    """The whole has no contents of its own, until a part of it gets some."""
    whole, source = device.allocate(FLOAT32, 128), device.wrap(ONES, FLOAT32)
    part = device.view(whole, 0, 64)
    double[4, 4]([part, source])
    device.upload(device.view(whole, 64, 64), 3 * ONES)
    assert np.array_equal(device.download(whole), np.concatenate([2 * ONES, 3 * ONES]))
