"""Images as pixels: every stage computes what the AST says, as does a device with images."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler import compile_kernel, find_target
from compiler.backends import open_device
from compiler.backends.reference import evaluate
from compiler.errors import DeviceError, IllegalOptError
from compiler.ir import FLOAT32, INT32, INT64, AxisKind, Op, const, intern, parse_node, toposort
from compiler.kernel import parse_opts
from compiler.passes.places import conditions, find_place
from compiler.rules import Builder

POCL, ADRENO = find_target("opencl/pocl"), find_target("opencl/adreno")
KERNELS = {
    "copy": """
%0 = IMAGE {dtype} slot=0 size=192 width=4
%1 = IMAGE {dtype} slot=1 size=192 width=16
%2 = LOAD {dtype} %1 view=[(192):(1)]
%3 = STORE void %0 %2 view=[(192):(1)]
%4 = SINK void %3 axes=(g0:192)
""",
    "matmul": """
%0 = IMAGE {dtype} slot=0 size=256 width=4
%1 = IMAGE {dtype} slot=1 size=256 width=4
%2 = LOAD {dtype} %1 view=[(16,16,16):(16,0,1)]
%3 = IMAGE {dtype} slot=2 size=256 width=4
%4 = LOAD {dtype} %3 view=[(16,16,16):(0,1,16)]
%5 = MUL {dtype} %2 %4
%6 = REDUCE {dtype} %5 op=ADD axes=(r0)
%7 = STORE void %0 %6 view=[(16,16,16):(16,1,0)]
%8 = SINK void %7 axes=(g0:16,g1:16,r0:16)
""",
    "box filter": """
%0 = IMAGE {dtype} slot=0 size=256 width=8
%1 = IMAGE {dtype} slot=1 size=256 width=8
%2 = LOAD {dtype} %1 view=[(10,10,4):(32,4,1)+-36?(1:9,1:9,0:4)|(8,3,8,3,4):(40,40,4,4,1)]
%3 = REDUCE {dtype} %2 op=ADD axes=(r0,r1)
%4 = STORE void %0 %3 view=[(8,3,8,3,4):(32,0,4,0,1)]
%5 = SINK void %4 axes=(g0:8,r0:3,g1:8,r1:3,g2:4)
""",
    "transposed": """
%0 = IMAGE {dtype} slot=0 size=128 width=2
%1 = IMAGE {dtype} slot=1 size=128 width=4
%2 = LOAD {dtype} %1 view=[(16,8):(1,16)]
%3 = STORE void %0 %2 view=[(16,8):(8,1)]
%4 = SINK void %3 axes=(g0:16,g1:8)
""",
    "every third element": """
%0 = IMAGE {dtype} slot=0 size=16 width=4
%1 = IMAGE {dtype} slot=1 size=48 width=3
%2 = LOAD {dtype} %1 view=[(16):(3)]
%3 = STORE void %0 %2 view=[(16):(1)]
%4 = SINK void %3 axes=(g0:16)
""",
    "gathered": """
%0 = BUFFER {dtype} slot=0 size=16
%1 = IMAGE {dtype} slot=2 size=48 width=3
%2 = BUFFER int32 slot=1 size=16
%3 = LOAD int32 %2 view=[(16):(1)]
%4 = GATHER {dtype} %1 %3
%5 = STORE void %0 %4 view=[(16):(1)]
%6 = SINK void %5 axes=(g0:16)
""",
    "masked inside of the image": """
%0 = IMAGE {dtype} slot=0 size=64 width=4
%1 = IMAGE {dtype} slot=1 size=64 width=4
%2 = LOAD {dtype} %1 view=[(4,16):(16,1)?(1:3,4:12)]
%3 = STORE void %0 %2 view=[(4,16):(16,1)]
%4 = SINK void %3 axes=(g0:4,g1:16)
""",
    "masked within a pixel": """
%0 = IMAGE {dtype} slot=0 size=64 width=4
%1 = IMAGE {dtype} slot=1 size=64 width=4
%2 = LOAD {dtype} %1 view=[(4,16):(16,1)+-2?(0:4,2:15)]
%3 = STORE void %0 %2 view=[(4,16):(16,1)]
%4 = SINK void %3 axes=(g0:4,g1:16)
""",
    "stored under a gate": """
%0 = IMAGE {dtype} slot=0 size=64 width=4
%1 = BUFFER {dtype} slot=1 size=64
%2 = LOAD {dtype} %1 view=[(4,16):(16,1)]
%3 = STORE void %0 %2 view=[(4,16):(16,1)?(1:4,4:16)]
%4 = SINK void %3 axes=(g0:4,g1:16)
""",
    "row sums": """
%0 = BUFFER {dtype} slot=0 size=8
%1 = IMAGE {dtype} slot=1 size=2048 width=64
%2 = LOAD {dtype} %1 view=[(8,256):(256,1)]
%3 = REDUCE {dtype} %2 op=MAX axes=(r0)
%4 = STORE void %0 %3 view=[(8,256):(1,0)]
%5 = SINK void %4 axes=(g0:8,r0:256)
""",
    "two outputs": """
%0 = IMAGE {dtype} slot=0 size=32 width=2
%1 = IMAGE {dtype} slot=2 size=32 width=4
%2 = LOAD {dtype} %1 view=[(4,8):(8,1)]
%3 = STORE void %0 %2 view=[(4,8):(8,1)]
%4 = IMAGE {dtype} slot=1 size=32 width=1
%5 = NEG {dtype} %2
%6 = STORE void %4 %5 view=[(4,8):(1,4)]
%7 = SINK void %3 %6 axes=(g0:4,g1:8)
""",
}
SYMBOLIC = """ir 1
%0 = IMAGE float32 slot=0 size=128 width=4
%1 = IMAGE float32 slot=1 size=128 width=4
%2 = VAR int64 name=n lo=1 hi=8
%3 = LOAD float32 %1 view=[(%2,16):(16,1)]
%4 = ADD float32 %3 %3
%5 = STORE void %0 %4 view=[(%2,16):(16,1)]
%6 = SINK void %5 axes=(g0:%2,g1:16)
"""
PAST_THE_END = """ir 1
%0 = IMAGE float32 slot=0 size=128 width=4
%1 = IMAGE float32 slot=1 size=128 width=4
%2 = VAR int64 name=n lo=1 hi=9
%3 = LOAD float32 %1 view=[(%2,16):({0},{1})]
%4 = STORE void %0 %3 view=[(%2,16):(16,1)]
%5 = SINK void %4 axes=(g0:%2,g1:16)
"""
SHIFTED = """ir 1
%0 = BUFFER float32 slot=0 size=16
%1 = IMAGE float32 slot=1 size=16 width=2
%2 = VAR int64 name=n lo=-3 hi=0
%3 = LOAD float32 %1 view=[(16):(1)+%2]
%4 = STORE void %0 %3 view=[(16):(1)]
%5 = SINK void %4 axes=(g0:16)
"""
TWICE = """ir 1
%0 = IMAGE float32 slot=0 size=32 width=4
%1 = IMAGE float32 slot=1 size=32 width=4
%2 = LOAD float32 %1 view=[(32):(1)]
%3 = STORE void %0 %2 view=[(32):(1)]
%4 = NEG float32 %2
%5 = STORE void %0 %4 view=[(32):(1)]
%6 = SINK void %3 %5 axes=(g0:32)
"""
RUNS = (
    *[(name, "float32", None) for name in KERNELS],
    ("matmul", "float16", "UPCAST g1 4"),
    ("box filter", "float16", None),
    ("masked within a pixel", "float16", None),
    ("matmul", "float32", "UPCAST g1 4; UPCAST g0 4; UNROLL r0 4; LOCAL g0.o 2"),
    ("matmul", "float32", "UPCAST g1 4; GROUP r0 4"),
    ("matmul", "float32", "UPCAST g1 4; LOCAL g0 4; LOCAL g1.o 2; LDS 1; LDS 2"),
    ("transposed", "float32", "UPCAST g1 4; UPCAST g0 4"),
    ("box filter", "float32", "UPCAST g1 4; PADTO g0 3; UPCAST g0 3"),
    ("copy", "float32", "PADTO g0 80; UPCAST g0 16"),
    ("stored under a gate", "float32", "UPCAST g1 8; LOCAL g0 2"),
)
GOLDEN = Path(__file__).parent / "images"
DTYPES = pytest.mark.parametrize("dtype", ["float32", "float16"])


def ast(name, dtype):
    return parse_node("ir 1" + KERNELS[name].format(dtype=dtype))


def contents(root, seed=3):
    """What each array of the kernel holds: small numbers, so that sums of halves are exact."""
    rng = np.random.default_rng(seed)
    found = {}
    for node in toposort(root):
        if node.op in (Op.BUFFER, Op.IMAGE):
            low, high = (-9, 60) if node.dtype.is_int else (-4, 5)
            found[node.attr[0]] = rng.integers(low, high, node.attr[1]).astype(node.dtype.name)
    return dict(sorted(found.items()))


@pytest.fixture(scope="module")
def device():
    try:
        opened = open_device("opencl")
    except DeviceError as error:
        pytest.skip(str(error))
    if not opened.handle.image_support:
        pytest.skip(f"{opened.id} has no images")
    return opened


def check_stages(compiled, held):
    expected = evaluate(compiled.ast, held)
    for stage in compiled.stages:
        given = {
            node.attr[0]: held[node.attr[0]].view("u2" if node.dtype.name == "uint16" else None)
            if node.dtype.name == "uint16"
            else held[node.attr[0]]
            for node in toposort(stage.node)
            if node.op in (Op.BUFFER, Op.IMAGE)
        }
        for slot, result in evaluate(stage.node, given).items():
            assert np.array_equal(result.view(expected[slot].dtype), expected[slot]), stage.name
    return expected


def run(device, compiled, held):
    """What the device leaves in each buffer."""
    arguments = compiled.program.arguments
    buffers = [device.wrap(held[at].copy(), each.dtype) for at, each in enumerate(arguments)]
    device.build(compiled.program)(buffers)
    return [device.download(buffer) for buffer in buffers]


@DTYPES
@pytest.mark.parametrize("name", KERNELS)
def test_every_stage_of_a_kernel_with_images_computes_its_ast(name, dtype):
    root = ast(name, dtype)
    held = contents(root)
    for target in (POCL, ADRENO):
        check_stages(compile_kernel(root, target), held)


@pytest.mark.parametrize(("name", "dtype", "opts"), RUNS)
def test_a_device_with_images_computes_what_the_reference_does(name, dtype, opts, device):
    root = ast(name, dtype)
    held = contents(root)
    given = None if opts is None else parse_opts(opts)
    compiled = compile_kernel(root, POCL, opts=given)
    expected = evaluate(root, held) if given is None else check_stages(compiled, held)
    after = run(device, compiled, held)
    for slot, result in expected.items():
        assert np.array_equal(after[slot], result)


def test_images_are_read_by_kernels_of_symbolic_size(device):
    compiled = compile_kernel(parse_node(SYMBOLIC), POCL)
    given = np.arange(128, dtype=np.float32)
    for rows in (1, 5, 8):
        buffers = [device.wrap(np.zeros(128, "f4"), FLOAT32), device.wrap(given.copy(), FLOAT32)]
        device.build(compiled.program)(buffers, {"n": rows})
        expected = np.where(np.arange(128) < 16 * rows, 2 * given, 0)
        assert np.array_equal(device.download(buffers[0]), expected)


@pytest.mark.parametrize("step", [1, 3])
def test_what_is_not_proven_to_be_inside_is_guarded(step):
    """Rows past the end: nothing is written there, and what is read is 0."""
    text = PAST_THE_END.format(16 * step, step)
    compiled = compile_kernel(parse_node(text), POCL, opts=parse_opts("UPCAST g1 4"))
    given = np.arange(1, 129, dtype=np.float32)
    after = evaluate(compiled.stages[-1].node, {1: given}, {"n": 9})[0]
    places = step * np.arange(128)
    expected = np.where(places < 128, given[np.minimum(places, 127)], 0)
    assert np.array_equal(after, expected)


def test_an_element_before_an_image_is_0():
    """Its channel is not known, and a division that truncates would say pixel 0."""
    stages = compile_kernel(parse_node(SHIFTED), POCL).stages
    given = np.arange(1, 17, dtype=np.float32)
    for shift in range(-3, 1):
        after = evaluate(stages[-1].node, {1: given}, {"n": shift})[0]
        assert np.array_equal(after, np.concatenate([np.zeros(-shift), given[: 16 + shift]]))


@pytest.mark.parametrize("mask", ["(0:4,0:6)", "(0:4,3:16)"])
def test_a_store_that_is_masked_within_a_pixel_is_refused(mask):
    text = KERNELS["stored under a gate"].replace("(1:4,4:16)", mask).format(dtype="float32")
    with pytest.raises(IllegalOptError, match="image 0 is written by pixel"):
        compile_kernel(parse_node("ir 1" + text), POCL, opts=parse_opts("UPCAST g1 4"))


def test_a_pixel_that_is_written_twice_holds_what_came_last():
    root = parse_node(TWICE)
    held = contents(root)
    after = check_stages(compile_kernel(root, POCL, opts=parse_opts("UPCAST g0 4")), held)
    assert np.array_equal(after[0], -held[1])


def test_all_halves_survive_an_image(device):
    """Subnormals and infinities, too; all NaNs are one value."""
    text = KERNELS["copy"].format(dtype="float16").replace("192", "65536")
    bits = np.arange(65536, dtype=np.uint16)
    held = {0: np.zeros(65536, np.float16), 1: bits.view(np.float16)}
    after = run(device, compile_kernel(parse_node("ir 1" + text), POCL), held)[0]
    is_nan = np.isnan(held[1])
    assert np.array_equal(after.view(np.uint16)[~is_nan], bits[~is_nan])
    assert np.isnan(after[is_nan]).all()


# --- what is made of them ---


def count(program, op):
    return sum(node.op is op for node in program.src)


@pytest.mark.parametrize(
    ("name", "dtype", "target"),
    [
        ("box filter", "float32", POCL),
        ("box filter", "float16", ADRENO),
        ("matmul", "float16", ADRENO),
        ("matmul", "float32", ADRENO),
    ],
)
def test_the_text_of_a_kernel_with_images(name, dtype, target):
    """Golden: no condition where the border of the image stands for the padding of a window."""
    source = compile_kernel(ast(name, dtype), target).program.source
    path = GOLDEN / f"{name.replace(' ', '_')}_{dtype}_{target.profile}.cl"
    assert source == path.read_text(encoding="utf-8")


def test_a_gate_that_is_not_the_border_stays():
    opts = parse_opts("UPCAST g1 4")
    compiled = compile_kernel(ast("masked inside of the image", "float32"), POCL, opts=opts)
    assert count(compiled.stages[-1].node, Op.WHERE) > 0


def test_a_pixel_is_read_once_however_many_of_its_elements_are_asked_for():
    opts = parse_opts("UPCAST g1 4; UPCAST g0 4; UNROLL r0 4")
    program = compile_kernel(ast("matmul", "float32"), POCL, opts=opts).stages[-1].node
    assert count(program, Op.READ) == 8  # 4 rows of 4 terms, 4 terms of 4 columns


def test_halves_are_read_and_written_as_such_where_they_are_computed_with():
    adreno = compile_kernel(ast("matmul", "float16"), ADRENO).program.source
    pocl = compile_kernel(ast("matmul", "float16"), POCL).program.source
    assert "read_imageh(" in adreno
    assert "write_imageh(" in adreno
    assert "imageh" not in pocl


def test_what_comes_out_of_a_half_image_is_not_rounded_again():
    """A copy between half images has no arithmetic."""
    program = compile_kernel(ast("copy", "float16"), POCL).stages[-1].node
    assert {node.op for node in program.src if node.dtype.is_float and node.op is not Op.IMAGE} == {
        Op.READ
    }


@pytest.mark.parametrize("opts", ["", "UPCAST g0 4", "UPCAST g1 2", "LOCAL g1 4; UPCAST g1.o 2"])
def test_an_image_that_is_written_in_part_is_refused(opts):
    with pytest.raises(IllegalOptError, match="image 0 is written by pixel: UPCAST an axis"):
        compile_kernel(ast("transposed", "float32"), POCL, opts=parse_opts(opts))


# --- places ---


@st.composite
def anywhere(draw):
    """An image, and the number of a pixel over three loops with conditions on them."""
    width, rows = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    sizes = [draw(st.integers(1, 4)) for _ in range(3)]
    scales = [draw(st.sampled_from([1, 2, -1, width, 2 * width, width + 1])) for _ in range(3)]
    constant = draw(st.integers(-2 * width - 2, width + 2))
    loops = st.sampled_from([(0,), (1,), (2,), (0, 1), (1, 2)])
    condition = st.tuples(loops, st.booleans(), st.integers(-1, 5), st.sampled_from([1, 2]))
    return width, rows, sizes, scales, constant, draw(st.lists(condition, max_size=4))


@st.composite
def windows(draw):
    """A window over an image and some of its masks, each perhaps off by one; maybe mirrored."""
    width, rows = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    sizes = [draw(st.integers(1, 5)), draw(st.integers(1, 3)), draw(st.integers(1, 5))]
    left, top = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    is_mirrored = draw(st.booleans())
    step, first = (-1, width - 1 + left) if is_mirrored else (1, -left)
    masks = [
        ((0, 1), True, left),
        ((0, 1), False, width + left),
        ((2,), True, top),
        ((2,), False, rows + top),
    ]
    limited = [
        (loops, is_low, factor * bound + draw(st.integers(-1, 1)), factor)
        for loops, is_low, bound in masks
        if draw(st.integers(0, 3))
        for factor in [draw(st.sampled_from([1, 1, 2]))]
    ]
    return width, rows, sizes, [step, step, width], first - top * width, limited


@settings(max_examples=250, deadline=None)
@given(st.one_of(windows(), anywhere()), st.sampled_from([INT32, INT64]))
def test_a_place_is_right_or_the_element_is_0_anyway(access, dtype):
    """With all conditions: x and y by division. Without those it dropped: outside of the image."""
    width, rows, sizes, scales, constant, limited = access
    b = Builder()
    image = intern(Op.IMAGE, FLOAT32, (), (0, 4 * width * rows, width))
    loops = [loop(f"r{at}", size, dtype) for at, size in enumerate(sizes)]
    gate = None
    for places, is_low, bound, factor in limited:
        total = loops[places[0]] if len(places) == 1 else b.add(*[loops[at] for at in places])
        total = b.mul(total, factor)
        condition = b.le(const(dtype, bound), total) if is_low else b.lt(total, bound)
        gate = condition if gate is None else b.and_(gate, condition)
    place = find_place(b, image, dict(zip(loops, scales, strict=True)), constant, loops[0], gate)
    for values in np.ndindex(*sizes):
        here = dict(zip(loops, [const(dtype, int(value)) for value in values], strict=True))
        number = constant + sum(s * v for s, v in zip(scales, values, strict=True))
        x, y = [b.rebuild(b.build(Op.LANE, INT32, (place.node,), (at,)), here) for at in (0, 1)]
        x, y = x.value, y.value
        holds = [b.rebuild(condition, here).value for condition in conditions(gate)]
        kept = [b.rebuild(condition, here).value for condition in place.kept]
        if all(holds) and 0 <= number < width * rows:
            assert (x, y) == (number % width, number // width)
        elif all(kept):
            assert not (0 <= x < width and 0 <= y < rows)


def loop(name, size, dtype=INT32):
    return intern(Op.RANGE, dtype, (const(dtype, size),), (name, AxisKind.REDUCE))


def test_a_place_that_32_bits_may_not_hold_keeps_its_gate():
    """2**40 pixels further on it would be in the image again."""
    b, far = Builder(), loop("far", 4, INT64)
    image = intern(Op.IMAGE, FLOAT32, (), (0, 256, 8))
    gate = b.lt(far, 1)
    assert find_place(b, image, {far: 1 << 40}, 0, far, gate).kept == (gate,)


def test_a_window_needs_no_division():
    """x + dx - 1 and y + dy - 1 inside of rows of 8 pixels, as a convolution walks."""
    b = Builder()
    image = intern(Op.IMAGE, FLOAT32, (), (0, 256, 8))
    x, y, dx, dy = loop("x", 8), loop("y", 8), loop("dx", 3), loop("dy", 3)
    gate = None
    for total in (b.add(x, dx), b.add(y, dy)):
        both = b.and_(b.le(const(INT32, 1), total), b.lt(total, 9))
        gate = both if gate is None else b.and_(gate, both)
    place = find_place(b, image, {y: 8, dy: 8, x: 1, dx: 1}, -9, x, gate)
    assert place.kept == ()
    assert {node.op for node in toposort(place.node)}.isdisjoint((Op.IDIV, Op.MOD, Op.WHERE))
