"""The shape of a kernel in the colours of its loops' roles."""

import pytest

from compiler.kernel import (
    COLOURS,
    Role,
    apply_all,
    coloured_shape,
    parse_opts,
    role_of,
    visible_length,
)
from compiler.kernel.opts import Local, Tc
from compiler.target import OPENCL, find_target


def _roles(kernel, opts):
    kernel = apply_all(kernel, parse_opts(opts), OPENCL)
    return {axis.name: role_of(kernel, axis) for axis in kernel.axes}


def test_each_kind_of_loop_has_its_role(kernel_of):  # row 18
    opts = "LOCAL g0 2; UPCAST g1 4; GROUP r0 4; UNROLL r0.o 2"
    assert _roles(kernel_of("matmul"), opts) == {
        "g0.o": Role.GLOBAL,
        "g1.o": Role.GLOBAL,
        "g0.i": Role.LOCAL,
        "r0.i": Role.GROUP,
        "r0.o.o": Role.REDUCE,
        "r0.o.i": Role.UNROLL,
        "g1.i": Role.UPCAST,
    }


def test_global_loops_are_brighter_once_work_groups_are_refused(kernel_of):  # row 18
    roles = _roles(kernel_of("matmul"), "NOLOCALS")
    assert roles["g0"] is roles["g1"] is Role.GLOBAL_ALONE
    assert COLOURS[Role.GLOBAL_ALONE] == COLOURS[Role.GLOBAL] + 60


def test_work_items_of_a_tensor_core_are_brighter_than_other_local_loops(kernel_of):  # row 18
    target = find_target("opencl/nvidia-sm80")
    core = Tc("nvidia.m16n8k8.tf32", "g1", "g0", "r0", matching=2)
    kernel = apply_all(kernel_of("matmul"), (core, Local("g1.o", 2)), target)
    roles = {axis.name: role_of(kernel, axis) for axis in kernel.axes}
    assert kernel.tile is not None
    assert {roles[name] for name in kernel.tile.items} == {Role.ITEM}
    assert Role.LOCAL in roles.values()
    assert COLOURS[Role.ITEM] == COLOURS[Role.LOCAL] + 60


def test_every_role_has_a_colour_of_its_own():  # row 18
    assert len(set(COLOURS.values())) == len(COLOURS) == len(Role)


def test_numbers_take_four_places_each(kernel_of):  # row 19
    assert coloured_shape(kernel_of("matmul"), is_coloured=False) == "   8   12   16"


def test_a_dense_shape_has_no_blanks_before_its_numbers(kernel_of):  # row 19
    assert coloured_shape(kernel_of("matmul"), is_dense=True, is_coloured=False) == "8 12 16"


def test_each_size_is_wrapped_in_the_codes_of_its_colour(kernel_of):  # row 19
    text = coloured_shape(kernel_of("row_sum"), is_dense=True)
    assert text == "\x1b[34m12\x1b[0m \x1b[31m24\x1b[0m"


@pytest.mark.parametrize("is_coloured", [True, False])
def test_padding_counts_visible_characters(kernel_of, is_coloured):  # row 19
    text = coloured_shape(kernel_of("matmul"), pad=30, is_coloured=is_coloured)
    assert visible_length(text) == 30


def test_a_shape_longer_than_the_padding_is_not_cut(kernel_of):  # row 19
    text = coloured_shape(kernel_of("matmul"), pad=3, is_dense=True, is_coloured=False)
    assert text == "8 12 16"


def test_a_symbolic_size_is_shown_as_a_formula(kernel_of):  # row 19
    kernel = kernel_of("""
%0 = VAR int64 name=n lo=1 hi=64
%1 = CONST int64 value=2 view=none
%2 = MUL int64 %0 %1
%3 = CONST int64 value=1 view=none
%4 = ADD int64 %2 %3
%5 = CONST int64 value=8 view=none
%6 = MUL int64 %4 %5
%7 = BUFFER float32 slot=0 size=%6
%8 = CONST float32 value=0x1.0000000000000p+0 view=none
%9 = STORE void %7 %8 view=[(%4,8):(8,1)]
%10 = SINK void %9 axes=(g0:%4,g1:8)
""")
    assert coloured_shape(kernel, is_coloured=False) == "((n*2)+1)    8"
