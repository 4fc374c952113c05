"""TC: what it matches, by name and by number; a refusal leaves the kernel as it was."""

import pytest

from compiler.errors import IllegalOptError
from compiler.ir import CORES, FLOAT16, FLOAT32, INT8, VOID, Op, View, ViewStack, find_core, intern
from compiler.kernel import (
    Positional,
    Tc,
    apply_all,
    choose,
    format_opt,
    format_opts,
    from_ast,
    parse_opt,
    parse_opts,
    to_positional,
)
from compiler.options import CompileOptions, CoreMatching, CoreUse, ScheduleOptions
from compiler.target import LLVM, OPENCL, PROFILES, find_target
from tests.kernel.products import matmul, target_of

MMA = find_core("nvidia.m16n8k16.f16")
TF32 = find_core("nvidia.m16n8k8.tf32")
OUTER = find_core("cpu.outer16x16.f32")
DOT = find_core("cpu.vpdpbusd")


def test_the_axes_of_a_tile_are_the_digits_of_its_layout(axes_of):  # rows 26, 30 and 35
    kernel = apply_all(
        from_ast(matmul(32, 16, 32, MMA)), (Tc(MMA.name, "g1", "g0", "r0"),), target_of(MMA)
    )
    assert axes_of(kernel) == [
        "g0.o: GLOBAL of 2, 16 of g0",
        "g1.o: GLOBAL of 2, 8 of g1",
        "g0.w: LOCAL of 8, 1 of g0",
        "g1.w: LOCAL of 4, 2 of g1",
        "r0.o: REDUCE of 2, 16 of r0",
        "r0.i: UNROLL of 16, 1 of r0",
        "g0.e: UPCAST of 2, 8 of g0",
        "g1.e: UPCAST of 2, 1 of g1",
    ]


@pytest.mark.parametrize("numbers", ["0 -1 0 1", "0 0 0 1"])
def test_numbers_are_resolved_to_names(numbers):  # rows 32, 37, 38 and 44
    kernel = apply_all(
        from_ast(matmul(16, 8, 16, MMA)), parse_opts(f"TC {numbers}"), target_of(MMA)
    )
    assert kernel.applied == (Tc(MMA.name, "g1", "g0", "r0", 0, 1),)


@pytest.mark.parametrize("use", [1, 2, 3])
@pytest.mark.parametrize("core", CORES, ids=lambda core: core.name)
def test_every_core_that_is_legal_has_numbers_that_mean_it(core, use):  # row 32
    """Also one that the target lacks and need not have."""
    kernel = from_ast(matmul(*[2 * core.size(axis) for axis in "mnk"], core))
    opt = Tc(core.name, "g1", "g0", "r0", 0, use)
    legal = [target for target in PROFILES if opt.why_illegal(kernel, target) is None]
    for target in legal:
        read = parse_opt(format_opt(to_positional(opt, kernel, target)))
        assert apply_all(kernel, (read,), target).applied == (opt,), target.name
    assert legal or use == 1


def test_any_core_is_one_that_the_target_has_if_it_has_any():  # row 37
    kernel = from_ast(matmul(16, 8, 16, MMA))
    opt = parse_opts("TC 0 -1 0 2")
    assert apply_all(kernel, opt, OPENCL).applied[0].core == MMA.name
    with pytest.raises(IllegalOptError, match=r"^TC 0 -1 0 2: apple.simdgroup8x8.f32: "):
        apply_all(kernel, opt, target_of(find_core("apple.simdgroup8x8.f32")))


@pytest.mark.parametrize(
    "opt",
    [
        Positional("TC", 0, 1, 0, 1),  # no such core
        Positional("TC", 1, 0, 0, 1),  # no such choice of axes
        Positional("TC", 0, 0, 3, 1),
        Positional("TC", 0, 0, 2, 4),
        Tc(MMA.name, "g1", "g0", "r0", 0, 1),  # 12 rows are no multiple of 16
        Tc(MMA.name, "g1", "g0", "r0", 2, 1),  # 2 rows would grow eightfold
    ],
)
@pytest.mark.parametrize("core", [core for core in CORES if core.items > 1][:3])
def test_a_refusal_leaves_the_kernel_as_it_was(opt, core):  # rows 34, 39 and 42
    kernel = from_ast(matmul(2, 12, 64, core))
    axes, pads, applied = kernel.axes, kernel.pads, kernel.applied
    with pytest.raises(IllegalOptError, match=r"^TC "):
        apply_all(kernel, (opt,), target_of(core))
    assert (kernel.axes, kernel.pads, kernel.applied) == (axes, pads, applied)


# --- what it matches ---

SHAPE = (16, 8, 16, 3)


def load(slot, dtype, *strides):
    """All that SHAPE reaches by these strides, one for each of its axes that is used."""
    size = 1 + sum((n - 1) * stride for n, stride in zip(SHAPE, strides, strict=False))
    buffer = intern(Op.BUFFER, dtype, (), (slot, size))
    return intern(Op.LOAD, dtype, (buffer,), (view(strides),))


def view(strides):
    return ViewStack((View(SHAPE[: len(strides)], strides, 0, None),))


LEFT, RIGHT = load(1, FLOAT16, 16, 0, 1), load(2, FLOAT16, 0, 1, 8)


def cast(value, dtype=FLOAT32):
    return intern(Op.CAST, dtype, (value,))


def product(left, right):
    return intern(Op.MUL, left.dtype, (left, right))


def why_not(value, matching=0, axes=("r0",)):
    """Why TC refuses the sum of `value` over `axes`; None where it takes it."""
    total = intern(Op.REDUCE, value.dtype, (value,), (Op.ADD, axes))
    output = intern(Op.BUFFER, value.dtype, (), (0, 128))
    store = intern(Op.STORE, VOID, (output, total), (view((8, 1, 0, 0)[: 2 + len(axes)]),))
    names = tuple(zip(("g0", "g1", *axes), SHAPE, strict=False))
    opt = Tc(MMA.name, "g1", "g0", "r0", matching)
    return opt.why_illegal(from_ast(intern(Op.SINK, VOID, (store,), (names,))), target_of(MMA))


def test_a_product_of_narrow_numbers_is_cast_to_the_dtype_of_the_sum():  # row 27
    assert why_not(cast(product(LEFT, RIGHT))) is None
    assert why_not(product(cast(LEFT), cast(RIGHT))) is None
    assert "is no sum of products" in why_not(product(LEFT, RIGHT))


@pytest.mark.parametrize("op", [Op.ADD, Op.MAX])
def test_what_is_added_up_has_to_be_products(op):  # row 28
    value = intern(op, FLOAT16, (LEFT, RIGHT))
    assert "is no sum of products" in why_not(cast(value))


def test_casts_of_what_is_read_are_matched_above_level_0():  # row 29
    value = cast(product(cast(load(1, INT8, 16, 0, 1), FLOAT16), RIGHT))
    assert "is no sum of products" in why_not(value, 0)
    assert why_not(value, 1) is None
    assert why_not(value, 2) is None


@pytest.mark.parametrize("matching", [0, 1, 2])
def test_other_operands_are_matched_at_no_level(matching):  # row 29
    doubled = intern(Op.ADD, FLOAT16, (LEFT, LEFT))
    assert "is no sum of products" in why_not(cast(product(doubled, RIGHT)), matching)


def test_two_reduce_axes_are_matched_above_level_0():  # row 31
    left, right = load(1, FLOAT16, 48, 0, 1, 16), load(2, FLOAT16, 0, 1, 8, 128)
    value = cast(product(left, right))
    assert why_not(value, 0, ("r0", "r1")) == "2 reduce axes, matching 0 takes one"
    assert why_not(value, 1, ("r0", "r1")) is None


# --- what heuristics choose ---


def chosen(of, shape, target=None, **options):
    schedule = CompileOptions(schedule=ScheduleOptions(**options))
    return format_opts(choose(from_ast(matmul(*shape, of)), target or target_of(of), schedule))


@pytest.mark.parametrize(
    ("rows", "columns", "more"),
    [
        (16, 8, ""),
        (32, 8, "; UPCAST g0.o 2"),
        (80, 8, "; UPCAST g0.o 5"),
        (16 * 4, 8 * 3, "; UPCAST g0.o 4; UPCAST g1.o 3"),
        (16 * 7, 8 * 8, "; UPCAST g1.o 4; LOCAL g1.o.o 2"),
        (16 * 7, 8 * 16, "; UPCAST g1.o 4; LOCAL g1.o.o 4"),
        (16 * 7, 8 * 11, ""),
    ],
)
def test_rows_then_columns_are_upcast_and_columns_shared(rows, columns, more):  # row 40
    assert chosen(MMA, (rows, columns, 16)) == f"TC {MMA.name} g1 g0 r0 0 1{more}"


def test_a_core_that_fills_the_registers_gets_no_more_tiles():  # row 41
    assert chosen(OUTER, (64, 64, 64)) == f"TC {OUTER.name} g1 g0 r0 0 1"
    assert "UPCAST" in chosen(DOT, (64, 64, 64))


def test_without_a_core_nothing_of_it_is_chosen():
    assert "TC" not in chosen(MMA, (64, 64, 64), OPENCL)
    assert "TC" not in chosen(OUTER, (64, 64, 64), LLVM)
    assert "TC" not in chosen(MMA, (64, 64, 64), core_use=CoreUse.NONE)


def test_the_shape_of_a_core_needs_none():
    text = chosen(MMA, (64, 64, 64), OPENCL, core_use=CoreUse.SHAPE)
    assert text.startswith(f"TC {MMA.name} g1 g0 r0 0 2")


def test_sizes_that_do_not_divide_are_padded_where_that_is_asked_for():
    assert "TC" not in chosen(MMA, (60, 64, 64))
    assert chosen(MMA, (60, 64, 64), core_matching=CoreMatching.PADDED).startswith("TC ")


def test_a_core_that_cuts_its_operands_short_has_to_be_named():
    assert "TC" not in chosen(TF32, (64, 64, 64))
    assert chosen(TF32, (64, 64, 64), core=TF32.name).startswith(f"TC {TF32.name} ")


def test_a_core_of_another_name_is_not_taken():
    assert "TC" not in chosen(MMA, (64, 64, 64), core=TF32.name)


def test_a_profile_of_the_host_takes_its_first_core_that_fits():
    target = find_target("llvm/x86-64-v4-bf16")
    assert chosen(OUTER, (64, 64, 64), target).startswith(f"TC {OUTER.name} ")
    assert chosen(DOT, (64, 64, 64), target).startswith(f"TC {DOT.name} ")
