"""IMAGE: what one is, its text, its pixels, and that targets without images have a buffer."""

import numpy as np
import pytest

from compiler import compile_kernel, find_target
from compiler.backends.reference import evaluate
from compiler.errors import DeviceError, VerifyError
from compiler.ir import (
    FLOAT16,
    FLOAT32,
    INT32,
    PLACE,
    VOID,
    Op,
    Spec,
    const,
    intern,
    parse_node,
    print_node,
    toposort,
    verify,
)

WIDEN = """ir 1
%0 = IMAGE float32 slot=0 size=48 width=4
%1 = IMAGE float16 slot=1 size=48 width=4
%2 = LOAD float16 %1 view=[(3,16):(16,1)]
%3 = CAST float32 %2
%4 = STORE void %0 %3 view=[(3,16):(16,1)]
%5 = SINK void %4 axes=(g0:3,g1:16)
"""
IN_PLACE = """ir 1
%0 = IMAGE float32 slot=0 size=48 width=4
%1 = LOAD float32 %0 view=[(48):(1)]
%2 = ADD float32 %1 %1
%3 = STORE void %0 %2 view=[(48):(1)]
%4 = SINK void %3 axes=(g0:48)
"""
HELD = np.arange(48, dtype=np.float16)


def image(slot, dtype=FLOAT16):
    return intern(Op.IMAGE, dtype, (), (slot, 48, 4))


def place(x, y):
    return intern(Op.STACK, PLACE, (const(INT32, x), const(INT32, y)))


def moved(source, target, dtype=FLOAT32, to=FLOAT32):
    """A stage that copies the pixel `source` of image 1 to `target` of image 0."""
    read = intern(Op.READ, dtype.vec(4), (image(1), place(*source)))
    write = intern(Op.WRITE, VOID, (image(0, to), place(*target), read))
    return intern(Op.SINK, VOID, (write,), ((),))


def test_the_text_of_an_image_round_trips():
    root = parse_node(WIDEN)
    verify(root, Spec.KERNEL)
    assert print_node(root) == WIDEN


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("IMAGE float32", "IMAGE float64", "an image holds float16 or float32"),
        ("size=48 width=4", "size=48 width=5", "48 elements are no whole rows of 5 pixels"),
        ("size=48 width=4", "size=50 width=1", "no whole rows"),
        ("size=48 width=4", "size=0 width=4", "no whole rows"),
        ("size=48 width=4", "size=48 width=0", "no whole rows"),
        ("slot=0", "slot=1", "two buffers have slot 1"),
        (WIDEN, IN_PLACE, "image 0 is read and written, use a BUFFER"),
    ],
)
def test_a_broken_image_is_refused_with_its_reason(old, new, words):
    with pytest.raises(VerifyError) as raised:
        verify(parse_node(WIDEN.replace(old, new, 1)), Spec.KERNEL)
    assert words in str(raised.value)


def test_a_pixel_is_moved_in_its_own_dtype_or_as_float32():
    verify(moved((0, 0), (0, 0)), Spec.LOOPS)
    verify(moved((0, 0), (0, 0), FLOAT16, FLOAT16), Spec.LOOPS)
    with pytest.raises(VerifyError, match="a pixel is float32x4"):
        verify(moved((0, 0), (0, 0), FLOAT16), Spec.LOOPS)


@pytest.mark.parametrize("target", ["llvm", "opencl", "llvm/dsp"])
def test_a_target_without_images_gets_a_buffer(target):
    stages = compile_kernel(parse_node(WIDEN), find_target(target)).stages
    assert all(node.op is not Op.IMAGE for stage in stages for node in toposort(stage.node))


def test_the_arguments_know_how_wide_an_image_is():
    program = compile_kernel(parse_node(WIDEN), find_target("llvm")).program
    assert [argument.width for argument in program.arguments] == [4, 4]


def test_the_reference_reads_an_image_as_its_elements():
    assert np.array_equal(evaluate(parse_node(WIDEN), {1: HELD})[0], HELD.astype("f4"))


@pytest.mark.parametrize("x", range(-1, 6))
@pytest.mark.parametrize("y", range(-1, 5))
def test_a_pixel_outside_of_an_image_reads_as_0(x, y):
    is_inside = 0 <= x < 4 and 0 <= y < 3
    expected = HELD.reshape(3, 4, 4)[y, x] if is_inside else np.zeros(4)
    assert np.array_equal(evaluate(moved((x, y), (0, 0)), {1: HELD})[0][:4], expected)


def test_a_pixel_is_written_where_it_belongs():
    written = evaluate(moved((1, 2), (3, 1)), {1: HELD})[0].reshape(3, 4, 4)
    assert np.array_equal(written[1, 3], HELD.reshape(3, 4, 4)[2, 1])
    assert np.count_nonzero(written) == 4


def test_a_pixel_that_is_written_outside_is_an_error():
    with pytest.raises(DeviceError, match="image 0: a pixel is outside"):
        evaluate(moved((0, 0), (4, 0)), {1: HELD})


def test_a_pixel_that_would_be_rounded_is_an_error():
    root = moved((0, 0), (0, 0), to=FLOAT16)
    wide = intern(Op.SPLAT, FLOAT32.vec(4), (const(FLOAT32, 0.1),))
    write = intern(Op.WRITE, VOID, (*root.src[0].src[:2], wide))
    with pytest.raises(DeviceError, match="float32 that is no float16"):
        evaluate(intern(Op.SINK, VOID, (write,), ((),)), {})
