"""What each opt makes of the axes: the tests that see swapped halves, which numbers cannot."""

from compiler.kernel import Positional, apply_all, parse_opts
from compiler.target import OPENCL


def after(kernel, text):
    return apply_all(kernel, parse_opts(text), OPENCL)


def test_a_kernel_starts_with_its_own_axes(kernel_of, axes_of):
    assert axes_of(kernel_of("matmul")) == [
        "g0: GLOBAL of 8, 1 of g0",
        "g1: GLOBAL of 12, 1 of g1",
        "r0: REDUCE of 16, 1 of r0",
    ]


def test_upcast_takes_neighbouring_outputs(kernel_of, axes_of):  # rows 21, 22 and 52
    assert axes_of(after(kernel_of("row_sum"), "UPCAST g0 4")) == [
        "g0.o: GLOBAL of 3, 4 of g0",
        "r0: REDUCE of 24, 1 of r0",
        "g0.i: UPCAST of 4, 1 of g0",
    ]


def test_unroll_takes_neighbouring_terms(kernel_of, axes_of):  # row 51
    assert axes_of(after(kernel_of("row_sum"), "UNROLL r0 4")) == [
        "g0: GLOBAL of 12, 1 of g0",
        "r0.o: REDUCE of 6, 4 of r0",
        "r0.i: UNROLL of 4, 1 of r0",
    ]


def test_local_takes_neighbouring_outputs(kernel_of, axes_of):  # row 49
    assert axes_of(after(kernel_of("row_sum"), "LOCAL g0 4")) == [
        "g0.o: GLOBAL of 3, 4 of g0",
        "g0.i: LOCAL of 4, 1 of g0",
        "r0: REDUCE of 24, 1 of r0",
    ]


def test_group_takes_neighbouring_terms(kernel_of, axes_of):  # row 50
    assert axes_of(after(kernel_of("row_sum"), "GROUP r0 8")) == [
        "g0: GLOBAL of 12, 1 of g0",
        "r0.i: GROUP of 8, 1 of r0",
        "r0.o: REDUCE of 3, 8 of r0",
    ]


def test_group_top_takes_runs_of_terms(kernel_of, axes_of):  # rows 22 and 50
    assert axes_of(after(kernel_of("row_sum"), "GROUPTOP r0 8")) == [
        "g0: GLOBAL of 12, 1 of g0",
        "r0.o: GROUP of 8, 3 of r0",
        "r0.i: REDUCE of 3, 1 of r0",
    ]


def test_pad_to_lengthens_the_axis_and_remembers_its_size(kernel_of, axes_of):  # row 55
    assert axes_of(after(kernel_of("row_sum"), "PADTO r0 32")) == [
        "g0: GLOBAL of 12, 1 of g0",
        "r0: REDUCE of 32, 1 of r0.p",
        "r0.p: 24 real, 1 of r0",
    ]


def test_a_split_of_a_padded_axis_stays_inside_the_padding(kernel_of, axes_of):
    assert axes_of(after(kernel_of("row_sum"), "PADTO r0 32; GROUPTOP r0 4"))[1:] == [
        "r0.o: GROUP of 4, 8 of r0.p",
        "r0.i: REDUCE of 8, 1 of r0.p",
        "r0.p: 24 real, 1 of r0",
    ]


def test_padding_the_outer_piece_of_a_padded_axis_needs_no_second_guard(kernel_of, axes_of):
    assert axes_of(after(kernel_of("row_sum"), "PADTO r0 32; UNROLL r0 16; PADTO r0.o 3"))[1:] == [
        "r0.o: REDUCE of 3, 16 of r0.p",
        "r0.i: UNROLL of 16, 1 of r0.p",
        "r0.p: 24 real, 1 of r0",
    ]


def test_padding_an_inner_piece_guards_that_piece(kernel_of, axes_of):
    assert axes_of(after(kernel_of("row_sum"), "GROUPTOP r0 4; PADTO r0.i 4"))[1:] == [
        "r0.o: GROUP of 4, 6 of r0",
        "r0.i: REDUCE of 8, 1 of r0.i.p",
        "r0.i.p: 6 real, 1 of r0",
    ]


def test_swap_exchanges_the_places_of_two_axes(kernel_of, axes_of):  # rows 20 and 54
    assert axes_of(after(kernel_of("matmul"), "SWAP g0 g1")) == [
        "g1: GLOBAL of 12, 1 of g1",
        "g0: GLOBAL of 8, 1 of g0",
        "r0: REDUCE of 16, 1 of r0",
    ]


def test_no_locals_changes_no_axis(kernel_of, axes_of):  # row 53
    kernel = kernel_of("matmul")
    assert axes_of(after(kernel, "NOLOCALS")) == axes_of(kernel)


def test_an_axis_taken_whole_keeps_its_name(kernel_of, axes_of):  # rows 23 and 57
    assert axes_of(after(kernel_of("row_sum"), "UPCAST g0 12; GROUPTOP r0 24")) == [
        "r0: GROUP of 24, 1 of r0",
        "g0: UPCAST of 12, 1 of g0",
    ]


def test_a_group_axis_can_be_unrolled_in_part_and_whole(kernel_of, axes_of):  # row 51
    assert axes_of(after(kernel_of("row_sum"), "GROUP r0 8; UNROLL r0.i 4; UNROLL r0.i.o 2")) == [
        "g0: GLOBAL of 12, 1 of g0",
        "r0.o: REDUCE of 3, 8 of r0",
        "r0.i.i: UNROLL of 4, 1 of r0",
        "r0.i.o: UNROLL of 2, 4 of r0",
    ]


def test_a_local_axis_can_be_upcast(kernel_of, axes_of):  # row 52
    assert axes_of(after(kernel_of("row_sum"), "LOCAL g0 4; UPCAST g0.i 2")) == [
        "g0.o: GLOBAL of 3, 4 of g0",
        "g0.i.o: LOCAL of 2, 2 of g0",
        "r0: REDUCE of 24, 1 of r0",
        "g0.i.i: UPCAST of 2, 1 of g0",
    ]


def test_new_pieces_go_last_among_their_kind(kernel_of, axes_of):
    axes = axes_of(
        after(kernel_of("matmul"), "UPCAST g1 4; UPCAST g0 2; LOCAL g1.o 3; LOCAL g0.o 2")
    )
    assert [line.partition(":")[0] for line in axes] == [
        "g0.o.o", "g1.o", "g0.o.i", "r0", "g1.i", "g0.i",
    ]  # fmt: skip


def test_a_piece_never_takes_the_name_of_another_axis(kernel_of, axes_of):
    kernel = kernel_of("""
%0 = BUFFER float32 slot=0 size=48
%1 = BUFFER float32 slot=1 size=48
%2 = LOAD float32 %1 view=[(6,8):(1,6)]
%3 = STORE void %0 %2 view=[(6,8):(8,1)]
%4 = SINK void %3 axes=(g0:6,g0.o:8)
""")
    assert axes_of(after(kernel, "UPCAST g0 2"))[0] == "g0.o.o: GLOBAL of 3, 2 of g0"


def test_opts_are_recorded_by_name_in_order(kernel_of):  # row 57
    kernel = apply_all(
        kernel_of("matmul"),
        (Positional("UPCAST", 1, 4), Positional("UNROLL", 0, 0), *parse_opts("SWAP g0 g1.o")),
        OPENCL,
    )
    assert kernel.applied == parse_opts("UPCAST g1 4; UNROLL r0 16; SWAP g0 g1.o")


def test_lds_notes_the_buffer_and_leaves_the_axes(kernel_of, axes_of):  # row 56
    kernel = after(kernel_of("matmul"), "LOCAL g0 4; LDS 2; LDS 1")
    assert kernel.staged == (2, 1)
    assert axes_of(kernel) == axes_of(after(kernel_of("matmul"), "LOCAL g0 4"))


def test_lds_by_position_is_the_number_of_the_buffer(kernel_of):
    kernel = after(kernel_of("matmul"), "LOCAL 0 4")
    assert apply_all(kernel, (Positional("LDS", 2),), OPENCL).staged == (2,)
