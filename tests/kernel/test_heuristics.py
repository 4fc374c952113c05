"""What is chosen when the caller chooses nothing. Each rule names its row of the table."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.ir import FLOAT32, VOID, Op, View, ViewStack, intern
from compiler.kernel import HEURISTICS, apply_all, choose, format_opts, from_ast
from compiler.options import DEFAULT, CompileOptions, Heuristics, ScheduleOptions
from compiler.target import LLVM, OPENCL

NO_SHARED = replace(OPENCL, capabilities=replace(OPENCL.capabilities, shared_bytes=0))


def options(**changed):
    return CompileOptions(schedule=ScheduleOptions(**changed))


def chosen(kernel, target=OPENCL, **changed):
    return format_opts(choose(kernel, target, options(**changed)))


def view(shape, strides, mask=None):
    return ViewStack((View(tuple(shape), tuple(strides), 0, mask),))


def load(slot, size, shape, strides, mask=None):
    buffer = intern(Op.BUFFER, FLOAT32, (), (slot, size))
    return intern(Op.LOAD, FLOAT32, (buffer,), (view(shape, strides, mask),))


def kernel(axes, value, strides):
    """A kernel over axes `g0=8 r0=4` that stores `value` by `strides`, reduced over the r axes."""
    pairs = [part.split("=") for part in axes.split()]
    names, shape = [name for name, _ in pairs], [int(size) for _, size in pairs]
    reduced = tuple([name for name in names if name.startswith("r")])
    if reduced:
        value = intern(Op.REDUCE, FLOAT32, (value,), (Op.ADD, reduced))
    output = intern(Op.BUFFER, FLOAT32, (), (0, 1 << 24))
    store = intern(Op.STORE, VOID, (output, value), (view(shape, strides),))
    return from_ast(intern(Op.SINK, VOID, (store,), (tuple(zip(names, shape, strict=True)),)))


def matmul(m, n, k):
    """g0 rows, g1 columns, r0 terms; all three operands row-major."""
    shape = (m, n, k)
    left, right = load(1, m * k, shape, (k, 0, 1)), load(2, k * n, shape, (0, 1, n))
    product = intern(Op.MUL, FLOAT32, (left, right))
    return kernel(f"g0={m} g1={n} r0={k}", product, (n, 1, 0))


def row_sum(rows, terms):
    value = load(1, rows * terms, (rows, terms), (terms, 1))
    return kernel(f"g0={rows} r0={terms}", value, (1, 0))


def copy(*shape, strides, mask=None):
    """Reads by `strides`, stores row-major."""
    row_major, step = [], 1
    for size in reversed(shape):
        row_major.insert(0, step)
        step *= size
    axes = " ".join(f"g{place}={size}" for place, size in enumerate(shape))
    return kernel(axes, load(1, 1 << 24, shape, strides, mask), row_major)


def test_the_order_of_heuristics_is_fixed():  # row 59
    names = [heuristic.choose.__name__ for heuristic in HEURISTICS]
    assert names == [
        "written_pixels", "tensor_core", "matvec", "grouping", "read_pixels", "rows", "tile",
        "staging", "vectorize", "transposition", "masked", "reuse", "unrolling", "fallback",
        "locals_", "threads",
    ]  # fmt: skip


def test_nothing_is_chosen_when_heuristics_are_off():
    assert chosen(matmul(64, 64, 64), heuristics=Heuristics.NONE) == ""


# --- matrix times vector ---


def test_matvec_shares_each_row_among_work_items():  # rows 61 and 62
    assert chosen(matmul(64, 1, 64)) == "GROUP r0 8; LOCAL g0 4; UPCAST g0.o 4"


def test_matvec_takes_the_operands_in_either_order():  # row 61
    shape = (64, 64)
    matrix, vector = load(1, 4096, shape, (64, 1)), load(2, 64, shape, (0, 1))
    product = intern(Op.MUL, FLOAT32, (vector, matrix))
    assert chosen(kernel("g0=64 r0=64", product, (1, 0))).startswith("GROUP r0 8; LOCAL g0 4")


def test_matvec_is_not_chosen_where_both_operands_repeat():  # row 61
    assert "GROUP r0 8" not in chosen(matmul(64, 64, 64))


def test_matvec_needs_sizes_that_divide():  # row 62
    assert "GROUP r0 8" not in chosen(matmul(60, 1, 64))
    assert "GROUP r0 8" not in chosen(matmul(64, 1, 63))


def test_a_matvec_that_is_illegal_falls_through():  # row 62, mended
    small = replace(OPENCL, capabilities=replace(OPENCL.capabilities, max_group_items=16))
    assert chosen(matmul(64, 1, 64), small).startswith("GROUPTOP r0 16")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("matvec", False, "GROUPTOP r0 16"),
        ("matvec_block", 8, "GROUP r0 8; LOCAL g0 8; UPCAST g0.o 4"),
        ("matvec_threads", 16, "GROUP r0 16; LOCAL g0 4; UPCAST g0.o 4"),
        ("matvec_rows", 8, "GROUP r0 8; LOCAL g0 4; UPCAST g0.o 8"),
    ],
)
def test_matvec_is_tuned_by_options(option, value, words):  # row 60
    assert chosen(matmul(64, 1, 64), **{option: value}) == words


# --- grouping ---


def test_few_long_sums_are_grouped_wide():  # row 63
    assert chosen(row_sum(32, 4096)) == "GROUPTOP r0 256"


def test_more_sums_are_grouped_narrow():  # row 63
    assert chosen(row_sum(64, 4096)) == "GROUPTOP r0 16"


def test_a_wide_group_that_does_not_divide_is_narrow():  # row 63
    assert chosen(row_sum(32, 4096 + 16)) == "GROUPTOP r0 16"


def test_many_outputs_are_not_grouped():  # row 63
    assert "GROUP" not in chosen(row_sum(4096, 4096))


def test_from_how_many_outputs_on_is_an_option():  # row 63
    assert chosen(row_sum(64, 4096), group_outputs=63) != chosen(row_sum(64, 4096))


def test_a_group_that_is_illegal_is_not_chosen():  # row 63
    assert "GROUP" not in chosen(row_sum(32, 4096), NO_SHARED)


def test_nothing_else_is_chosen_for_a_grouped_kernel():  # row 65
    assert chosen(row_sum(4, 4096)) == "GROUPTOP r0 256"


# --- upcasts ---


def test_short_masked_axes_are_upcast_whole():  # row 66
    mask = ((0, 64), (1, 6))
    opts = chosen(copy(64, 6, strides=(1, 64), mask=mask))
    assert opts.startswith("UPCAST g1 6")


def test_an_axis_above_7_is_not_a_short_one():  # row 66
    mask = ((0, 64), (1, 8))
    assert "UPCAST g1 8" not in chosen(copy(64, 8, strides=(1, 64), mask=mask))


def test_masked_axes_are_upcast_to_49_in_all():  # row 66
    mask = ((0, 64), (1, 3), (1, 7), (1, 7))
    opts = chosen(copy(64, 3, 7, 7, strides=(147, 1, 21, 3), mask=mask))
    assert opts.startswith("UPCAST g3 7; UPCAST g2 7;")
    assert "UPCAST g1 3" not in opts


def test_axes_along_which_a_buffer_repeats_are_upcast():  # row 67
    assert chosen(matmul(64, 64, 64)).startswith("UPCAST g1 4; UPCAST g0 4;")


def test_with_few_outputs_none_is_upcast_for_reuse():  # row 67
    assert not chosen(matmul(31, 33, 17), group_outputs=1).startswith("UPCAST")


def test_from_how_many_outputs_on_reuse_pays_is_an_option():  # row 67
    big, kernel = 1 << 20, matmul(64, 64, 64)
    assert chosen(kernel, upcast_outputs=big) != chosen(kernel)


def test_a_short_last_reduce_axis_is_unrolled_whole():  # row 68
    assert "UNROLL r0 20" in chosen(row_sum(4096, 20))


def test_a_tiny_one_around_a_tiny_one_too():  # row 68
    shape, strides = (4096, 3, 3), (100, 10, 1)
    value = load(1, 1 << 20, shape, strides)
    opts = chosen(kernel("g0=4096 r0=3 r1=3", value, (1, 0, 0)))
    assert "UNROLL r1 3; UNROLL r0 3" in opts


def test_a_long_reduce_axis_is_unrolled_by_4():  # row 68
    assert "UNROLL r0 4" in chosen(row_sum(4096, 64))


def test_how_much_is_unrolled_is_an_option():  # row 68
    assert "UNROLL" not in chosen(matmul(64, 64, 64), max_unrolled=16)
    assert "UNROLL" in chosen(matmul(64, 64, 64))


def test_a_kernel_without_upcasts_gets_one():  # row 69
    assert chosen(copy(64, 64, strides=(1, 64))).startswith("UPCAST g1 4")


# --- work-groups ---


def test_axes_along_which_a_buffer_repeats_become_local_first():  # row 70
    shape = (64, 64, 64)
    value = load(1, 1 << 20, shape, (0, 200, 3))
    opts = chosen(kernel("g0=64 g1=64 g2=64", value, (1, 200, 70000)), upcast_outputs=1 << 20)
    assert opts == "UPCAST g2 4; LOCAL g0 32; LOCAL g2.o 4"


def test_the_outermost_axis_may_take_32():  # row 70
    assert "LOCAL g0 32" in chosen(copy(64, 3, strides=(1, 64)))


def test_three_axes_at_most_become_local():  # row 70
    opts = chosen(copy(4, 4, 4, 4, 4, strides=(1, 4, 16, 64, 256)))
    assert opts.count("LOCAL") == 3


def test_the_size_of_a_work_group_is_an_option():  # row 70
    assert chosen(matmul(64, 64, 64), group_items=16).endswith("LOCAL g1.o 16")
    assert chosen(matmul(64, 64, 64)).endswith("LOCAL g0.o 8; LOCAL g1.o 16")


def test_no_work_groups_is_an_option():  # row 70
    assert chosen(matmul(64, 64, 64), locals=False).endswith("NOLOCALS")


# --- targets without work-groups ---


def test_a_product_is_computed_in_register_tiles():
    opts = chosen(matmul(64, 60, 64), LLVM)
    assert opts == "PADTO g1 64; UPCAST g1 64; PADTO g0 6; UPCAST g0 6"


def test_the_vectors_of_a_tile_come_from_a_panel_that_all_threads_fill():
    assert chosen(matmul(512, 512, 512), LLVM) == ("UPCAST g1 64; PADTO g0 6; UPCAST g0 6; LDS 2")


def test_where_the_panel_is_too_large_for_the_cache_loops_over_its_parts_go_outside():
    assert chosen(matmul(2048, 2048, 2048), LLVM) == (
        "UPCAST g1 64; PADTO g0 6; UPCAST g0 6; SWAP g0.o g1.o; LDS 2"
    )


def test_a_panel_for_few_rows_is_not_worth_its_copy():
    assert "LDS" not in chosen(matmul(30, 512, 512), LLVM)
    assert "LDS" in chosen(matmul(36, 512, 512), LLVM)
    assert "LDS" in chosen(matmul(30, 512, 512), LLVM, staged_rows=30)


def test_a_small_operand_needs_no_panel():
    assert "LDS" not in chosen(matmul(512, 16, 16), LLVM)
    assert "LDS" in chosen(matmul(512, 16, 16), LLVM, staged_bytes=1024)


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("tile_columns", 16, "UPCAST g1 16; UPCAST g0 10; LDS 2"),
        ("tile_rows", 5, "PADTO g1 64; UPCAST g1 64; UPCAST g0 5; LDS 2"),
        ("tile_registers", 16, "UPCAST g1 48; PADTO g0 4; UPCAST g0 4; LDS 2"),
    ],
)
def test_tiles_are_tuned_by_options(option, value, words):
    assert chosen(matmul(510, 480, 512), LLVM, **{option: value}) == words


def test_columns_that_fill_half_a_vector_are_not_padded_to_a_whole_one():
    assert chosen(matmul(64, 8, 64), LLVM) == "UPCAST g1 8; UPCAST g0 8"
    assert chosen(matmul(64, 14, 64), LLVM) == "PADTO g1 16; UPCAST g1 16; UPCAST g0 8"


def test_rows_are_padded_only_where_it_saves_loads():
    assert "UPCAST g0 8" in chosen(matmul(32, 16, 64), LLVM)  # 11 would need a guard for as much
    assert "PADTO g0 14; UPCAST g0 14" in chosen(matmul(41, 16, 64), LLVM)


def window_product(columns, mask):
    """g0=96 images, g1=32 outputs, `columns` places of 16 terms that `mask` the places."""
    shape = (96, 32, columns, 16)
    seen = load(1, 1 << 12, shape, (1600, 0, 1, 100), ((0, 96), (0, 32), mask, (0, 16)))
    product = intern(Op.MUL, FLOAT32, (seen, load(2, 512, shape, (0, 16, 0, 1))))
    axes = f"g0=96 g1=32 g2={columns} r0=16"
    return kernel(axes, product, (32 * columns, columns, 1, 0))


def test_masked_columns_are_not_padded_to_whole_vectors():
    assert chosen(window_product(14, (1, 14)), LLVM) == "UPCAST g2 14; UPCAST g1 8"
    assert chosen(window_product(14, (0, 14)), LLVM).startswith("PADTO g2 16; UPCAST g2 16")


def columns_along_the_sum(columns):
    """The gradient of a kernel: 1024 terms that both operands have side by side."""
    shape = (32, columns, 1024)
    left, right = load(1, 1 << 12, shape, (64, 0, 1)), load(2, 1 << 12, shape, (0, 1, 1))
    product = intern(Op.MUL, FLOAT32, (left, right))
    return kernel(f"g0=32 g1={columns} r0=1024", product, (columns, 1, 0))


def test_a_sum_is_in_lanes_where_columns_would_leave_most_lanes_empty():
    assert chosen(columns_along_the_sum(3), LLVM) == "UNROLL r0 16; UPCAST g0 4; UPCAST g1 3"
    assert chosen(columns_along_the_sum(64), LLVM).startswith("UPCAST g1 64")


def test_sums_under_way_share_what_either_side_loads():
    shape = (32, 3, 3, 64)
    left, right = load(1, 2048, shape, (64, 0, 0, 1)), load(2, 1 << 12, shape, (0, 70, 1, 1))
    product = intern(Op.MUL, FLOAT32, (left, right))
    opts = chosen(kernel("g0=32 g1=3 g2=3 r0=64", product, (9, 3, 1, 0)), LLVM)
    assert opts == "UNROLL r0 16; UPCAST g0 4; UPCAST g2 3"


def test_a_contiguous_output_axis_becomes_vectors():
    assert chosen(copy(4096, strides=(1,)), LLVM) == "UPCAST g0 16"


def test_how_many_lanes_a_vector_has_is_an_option():
    assert chosen(copy(4096, strides=(1,)), LLVM, vector_lanes=8) == "UPCAST g0 8"


def test_a_contiguous_reduce_axis_becomes_vectors_with_several_sums():
    assert chosen(row_sum(64, 4096), LLVM) == "UNROLL r0 16; UPCAST g0 4"


def test_a_masked_axis_becomes_vectors_with_a_vector_of_conditions():
    mask = ((0, 64), (1, 64))
    assert chosen(copy(64, 64, strides=(64, 1), mask=mask), LLVM) == "UPCAST g1 16; UPCAST g1.o 4"


def test_sums_of_windows_over_padding_become_vectors():
    """A running sum in one block: each place reaches back, before the first place into padding."""
    padded = View((64, 31), (16, 1), -15, ((0, 64), (15, 31)))
    windows = View((64, 16, 16), (31, 1, 1))
    buffer = intern(Op.BUFFER, FLOAT32, (), (1, 1024))
    value = intern(Op.LOAD, FLOAT32, (buffer,), (ViewStack((padded, windows)),))
    assert chosen(kernel("g0=64 g1=16 r0=16", value, (16, 1, 0)), LLVM) == "UPCAST g1 16"


def test_an_odd_axis_is_cut_where_it_takes_the_fewest_vectors():
    assert chosen(copy(26, strides=(1,)), LLVM) == "UPCAST g0 13"


def test_sums_over_contiguous_outputs_take_several_vectors():
    value = load(1, 1 << 20, (4096, 256), (1, 4096))
    assert chosen(kernel("g0=4096 r0=256", value, (1, 0)), LLVM) == "UPCAST g0 64"


def along_both_rows(size):
    """64 x 64 sums over 256 neighbours on either side, of buffers of `size` elements."""
    shape = (64, 64, 256)
    left, right = load(1, size, shape, (256, 0, 1)), load(2, size, shape, (0, 256, 1))
    product = intern(Op.MUL, FLOAT32, (left, right))
    return kernel("g0=64 g1=64 r0=256", product, (64, 1, 0))


def test_a_product_along_both_rows_has_its_columns_in_a_panel():
    assert chosen(along_both_rows(1 << 14), LLVM) == (
        "UPCAST g1 64; PADTO g0 6; UPCAST g0 6; LDS 2"
    )


def test_a_small_product_along_both_rows_is_summed_in_lanes_of_a_tile():
    opts = chosen(along_both_rows(1 << 14), LLVM, staged_rows=1 << 20)
    assert opts == "UNROLL r0 16; UPCAST g0 4; UPCAST g1 4"


def test_a_small_operand_without_columns_side_by_side_is_read_through_a_panel():
    opts = chosen(along_both_rows(1 << 14), LLVM)
    assert opts == "UPCAST g1 64; PADTO g0 6; UPCAST g0 6; LDS 2"


@pytest.mark.parametrize("terms", [16, 48])
def test_sums_have_lanes_however_short(terms):  # they are folded halves onto halves
    assert chosen(row_sum(256, terms), LLVM) == "UNROLL r0 16; UPCAST g0 4"


def test_a_sum_over_several_axes_has_lanes_along_the_contiguous_one():
    value = load(1, 1 << 16, (256, 32, 8), (8, 2048, 1))
    assert chosen(kernel("g0=256 r0=32 r1=8", value, (1, 0, 0)), LLVM) == "UNROLL r1 8; UPCAST g0 4"


def test_sums_of_slow_functions_have_lanes():
    powers = intern(Op.EXP2, FLOAT32, (load(1, 4096, (256, 16), (16, 1)),))
    assert chosen(kernel("g0=256 r0=16", powers, (1, 0)), LLVM) == "UNROLL r0 16; UPCAST g0 4"


def test_a_sum_of_everything_keeps_two_vectors():
    assert chosen(row_sum(1, 1 << 16), LLVM) == "UNROLL r0 32"


def test_columns_are_as_many_as_have_a_panel_in_local_memory():
    assert "UPCAST g1 32;" in chosen(matmul(512, 512, 8192), LLVM)
    assert "LDS" not in chosen(matmul(512, 512, 1 << 15), LLVM)


def test_masks_of_a_panel_are_not_unrolled():
    shape, mask = (64, 64, 100, 3), ((0, 64), (0, 64), (0, 100), (0, 2))
    left, right = (
        load(1, 1 << 20, shape, (300, 0, 3, 1)),
        load(2, 1 << 20, shape, (0, 1, 99, 1), mask),
    )
    product = intern(Op.MUL, FLOAT32, (left, right))
    opts = chosen(kernel("g0=64 g1=64 r0=100 r1=3", product, (64, 1, 0, 0)), LLVM)
    assert opts == "UPCAST g1 64; PADTO g0 6; UPCAST g0 6; LDS 2"


def test_a_transposition_is_done_in_squares():
    assert chosen(copy(64, 64, strides=(1, 64)), LLVM) == "UPCAST g0 8; UPCAST g1 8"


def test_a_short_masked_term_is_unrolled():
    shape, mask = (64, 64, 3), ((0, 64), (0, 64), (0, 2))
    value = load(1, 1 << 20, shape, (64, 1, 7), mask)
    opts = chosen(kernel("g0=64 g1=64 r0=3", value, (64, 1, 0)), LLVM)
    assert opts == "UPCAST g0 64; UNROLL r0 3"


def test_a_choice_stays_below_the_limit_of_nodes():
    small = chosen(matmul(512, 512, 512), LLVM, max_nodes=1000)
    assert small == "UPCAST g1 16; PADTO g0 3; UPCAST g0 3; LDS 2"


def test_a_long_loop_is_swapped_outside_of_a_short_one_for_threads():
    assert chosen(copy(4, 20, 64, strides=(2000, 70, 1)), LLVM) == "UPCAST g2 16; SWAP g0 g1"
    assert chosen(copy(16, 20, 64, strides=(2000, 70, 1)), LLVM) == "UPCAST g2 16"


def test_how_long_the_outermost_loop_should_be_is_an_option():
    kernel = copy(4, 20, 64, strides=(2000, 70, 1))
    assert chosen(kernel, LLVM, threaded=4) == "UPCAST g2 16"


def test_llvm_gets_no_work_groups():
    for each in (matmul(64, 1, 64), matmul(64, 64, 64), row_sum(32, 4096)):
        opts = chosen(each, LLVM)
        assert "LOCAL" not in opts
        assert "GROUP" not in opts


# --- rows ---


def softmax_like(rows, columns, function=Op.NEG):
    """A function of x less the maximum of its row, over the sum of those of the row."""
    shape, size = (rows, columns, columns, columns), rows * columns
    along, first, second = [
        load(1, size, shape, strides)
        for strides in ((columns, 1, 0, 0), (columns, 0, 1, 0), (columns, 0, 0, 1))
    ]
    greatest = intern(Op.REDUCE, FLOAT32, (first,), (Op.MAX, ("r0",)))
    less = [intern(Op.SUB, FLOAT32, (value, greatest)) for value in (along, second)]
    less = [intern(function, FLOAT32, (value,)) for value in less]
    total = intern(Op.REDUCE, FLOAT32, (less[1],), (Op.ADD, ("r1",)))
    output = intern(Op.BUFFER, FLOAT32, (), (0, size))
    value = intern(Op.FDIV, FLOAT32, (less[0], total))
    store = intern(Op.STORE, VOID, (output, value), (view(shape, (columns, 1, 0, 0)),))
    axes = tuple(zip(("g0", "g1", "r0", "r1"), shape, strict=True))
    return from_ast(intern(Op.SINK, VOID, (store,), (axes,)))


def test_all_loops_along_a_row_get_the_same_lanes():
    assert chosen(softmax_like(64, 256), LLVM) == (
        "UNROLL r0 16; UNROLL r1 16; UPCAST g1 16; UPCAST g0 4"
    )


def test_slow_functions_along_a_row_are_computed_once():
    opts = "UNROLL r0 16; UNROLL r1 16; UPCAST g1 16; UPCAST g0 4"
    assert chosen(softmax_like(64, 256, Op.EXP2), LLVM) == f"KEEP r1; {opts}"
    assert chosen(softmax_like(64, 256, Op.NEG), LLVM) == opts


def test_lanes_along_a_row_divide_it():
    assert chosen(softmax_like(64, 10), LLVM) == (
        "UNROLL r0 10; UNROLL r1 10; UPCAST g1 10; UPCAST g0 4"
    )


def test_rows_stay_outside_of_the_loop_along_them_whatever_threads_want():
    assert "SWAP" not in chosen(softmax_like(4, 256), LLVM)


def test_lanes_along_rows_stay_below_the_limit_of_nodes():
    assert chosen(softmax_like(64, 256), LLVM, max_nodes=500) == ""


def test_a_product_has_no_rows_to_go_along():
    assert chosen(matmul(64, 60, 64), LLVM).startswith("PADTO g1 64; UPCAST g1 64")


# --- all of them ---


@st.composite
def kernels(draw):
    rank = draw(st.integers(1, 4))
    names = sorted(f"{draw(st.sampled_from('gr'))}{place}" for place in range(rank))
    shape = [draw(st.sampled_from([1, 2, 3, 4, 5, 7, 16, 24, 64, 100, 256, 4096])) for _ in names]
    strides = st.lists(st.sampled_from([0, 1, 2, 3, 64, 4096]), min_size=rank, max_size=rank)
    loads = [
        load(slot, 1 << 40, shape, draw(strides)) for slot in range(1, draw(st.integers(2, 4)))
    ]
    value = loads[0]
    for other in loads[1:]:
        value = intern(draw(st.sampled_from([Op.MUL, Op.ADD])), FLOAT32, (value, other))
    store = [
        0 if name.startswith("r") else step for name, step in zip(names, draw(strides), strict=True)
    ]
    axes = " ".join(f"{name}={size}" for name, size in zip(names, shape, strict=True))
    return kernel(axes, value, store)


@given(kernels(), st.sampled_from([LLVM, OPENCL, NO_SHARED]))
@settings(max_examples=300, deadline=None)
def test_what_is_chosen_is_legal(each, target):
    opts = choose(each, target, DEFAULT)
    assert apply_all(each, opts, target).applied == opts


@given(kernels())
@settings(max_examples=50, deadline=None)
def test_the_same_kernel_gets_the_same_choice(each):
    assert choose(each, OPENCL, DEFAULT) == choose(from_ast(each.ast), OPENCL, DEFAULT)


def test_what_is_read_for_every_term_decides_over_what_is_read_once():
    terms, once = load(1, 1 << 22, (4096, 1024), (1024, 1)), load(2, 4096, (4096, 1024), (1, 0))
    value = intern(Op.SUB, FLOAT32, (terms, once))
    opts = chosen(kernel("g0=4096 r0=1024", value, (1, 0)), LLVM)
    assert opts == "UNROLL r0 16; UPCAST g0 4"
