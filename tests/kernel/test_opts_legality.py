"""Which opts are refused, and with which words. Each rule names its row of the behaviour table."""

import re
from dataclasses import replace

import pytest

from compiler.errors import IllegalOptError
from compiler.ir import INT64, Op, intern
from compiler.kernel import (
    OPTS,
    Group,
    GroupTop,
    Keep,
    Lds,
    Local,
    NoLocals,
    PadTo,
    Positional,
    Swap,
    Tc,
    Unroll,
    Upcast,
    apply_all,
    parse_opts,
)
from compiler.target import LLVM, OPENCL

WIDE = replace(OPENCL, capabilities=replace(OPENCL.capabilities, max_group_items=1 << 20))


def why(kernel, text, target=OPENCL):
    """The words with which the last opt is refused, None if it is legal."""
    *before, last = parse_opts(text)
    return last.why_illegal(apply_all(kernel, tuple(before), target), target)


def refused(kernel, text, target=OPENCL):
    with pytest.raises(IllegalOptError) as raised:
        apply_all(kernel, parse_opts(text), target)
    return str(raised.value)


# --- what is common to all ---


def test_the_error_names_opt_fact_and_remedy(kernel_of):
    assert refused(kernel_of("row_sum"), "UPCAST r0 4") == (
        "UPCAST r0 4: needs an output axis, r0 is REDUCE"
    )


@pytest.mark.parametrize("opt", ["UPCAST", "UNROLL", "LOCAL", "GROUP", "GROUPTOP", "PADTO"])
def test_an_unknown_axis_is_a_reason(kernel_of, opt):  # row 46
    assert why(kernel_of("row_sum"), f"{opt} x9 4") == "no axis x9, the kernel has g0 r0"


def test_swap_with_an_unknown_axis_is_a_reason(kernel_of):  # row 46
    assert why(kernel_of("matmul"), "SWAP g0 x9") == "no axis x9, the kernel has g0 g1 r0"


@pytest.mark.parametrize("opt", [opt for opt in OPTS if opt not in (NoLocals, Swap, Lds, Keep, Tc)])
@pytest.mark.parametrize("amount", [None, True, 1, 0, -4, 2.0, "4"])
def test_an_amount_that_is_no_integer_above_one_is_refused(kernel_of, opt, amount):  # row 47
    axis = "r0" if opt in (Unroll, Group, GroupTop) else "g0"
    with pytest.raises(IllegalOptError, match="use an integer above 1"):
        apply_all(kernel_of("row_sum"), (opt(axis, amount),), OPENCL)


def test_a_symbolic_amount_is_refused(kernel_of):  # row 47
    amount = intern(Op.VAR, INT64, (), ("n", 1, 8))
    with pytest.raises(IllegalOptError, match="is symbolic, use an integer"):
        apply_all(kernel_of("row_sum"), (Upcast("g0", amount),), OPENCL)


@pytest.mark.parametrize("axis", [None, True, 0, -1, ("g0",), ""])
def test_a_name_that_is_no_name_is_refused(kernel_of, axis):  # row 46
    with pytest.raises(IllegalOptError, match="no axis"):
        apply_all(kernel_of("row_sum"), (Upcast(axis, 4),), OPENCL)


@pytest.mark.parametrize("opt", ["UPCAST g0", "LOCAL g0", "UNROLL r0", "GROUP r0", "GROUPTOP r0"])
def test_an_amount_that_does_not_divide_the_axis_is_refused(kernel_of, opt):  # row 47
    assert "5 does not divide" in why(kernel_of("row_sum"), f"{opt} 5")


def test_a_symbolic_axis_is_not_cut(kernel_of):  # row 47
    assert why(kernel_of("symbolic"), "UPCAST g0 4") == (
        "g0 has a symbolic size, use an axis of constant size"
    )


def test_what_is_no_opt_at_all_is_refused(kernel_of):
    with pytest.raises(IllegalOptError, match="is not an opt, use one of UPCAST UNROLL"):
        apply_all(kernel_of("row_sum"), ("UPCAST g0 4",), OPENCL)


def test_opts_are_applied_all_or_none(kernel_of):  # rows 34 and 42
    kernel = kernel_of("row_sum")
    before = (kernel.axes, kernel.pads, kernel.applied)
    refused(kernel, "PADTO r0 32; UPCAST g0 4; UPCAST g0.i 2")
    assert (kernel.axes, kernel.pads, kernel.applied) == before


# --- by position ---


@pytest.mark.parametrize("axis", [-1, 3, 10**9])
def test_a_number_that_counts_no_axis_is_refused(kernel_of, axis):  # row 46
    reason = Positional("UPCAST", axis, 4).why_illegal(kernel_of("matmul"), OPENCL)
    assert reason == f"axis {axis}, the kernel has 3 axes that UPCAST counts from 0"


@pytest.mark.parametrize("axis", [True, 1.0, "1"])
def test_a_number_that_is_no_integer_is_refused(kernel_of, axis):  # row 46
    reason = Positional("UPCAST", axis, 4).why_illegal(kernel_of("matmul"), OPENCL)
    assert reason.endswith("use a number or a name")


@pytest.mark.parametrize("opt", OPTS, ids=lambda opt: opt.op)
@pytest.mark.parametrize("numbers", [(None, 0), (None, 1), (None, 4), (None, None)])
def test_no_axis_is_no_number(kernel_of, opt, numbers):  # row 46
    asked = Positional(opt.op, *numbers, *((0, 2) if opt is Tc else ()))
    reason = asked.why_illegal(kernel_of("matmul"), OPENCL)
    if opt is NoLocals and numbers == (None, None):
        assert reason is None
    else:
        assert re.search(rf"{opt.op} takes [0-4] numbers", reason)


@pytest.mark.parametrize("amount", [None, True, 1, -4, False])
def test_a_positional_amount_is_0_or_above_1(kernel_of, amount):  # row 47
    with pytest.raises(IllegalOptError):
        apply_all(kernel_of("matmul"), (Positional("UPCAST", 0, amount),), OPENCL)


def test_swap_by_number_refuses_negative_axes(kernel_of):  # row 46
    reason = Positional("SWAP", 0, -1).why_illegal(kernel_of("matmul"), OPENCL)
    assert reason == "axis -1, the kernel has 3 axes that SWAP counts from 0"


def test_amount_zero_is_the_whole_axis(kernel_of):  # row 47
    kernel = apply_all(kernel_of("matmul"), (Positional("UPCAST", 1, 0),), OPENCL)
    assert kernel.applied == (Upcast("g1", 12),)


def test_amount_zero_of_a_symbolic_axis_is_refused(kernel_of):  # row 47
    reason = Positional("UPCAST", 0, 0).why_illegal(kernel_of("symbolic"), OPENCL)
    assert "is symbolic" in reason


def test_unroll_counts_from_the_first_reduce_axis(kernel_of):  # row 45
    kernel = apply_all(kernel_of("matmul"), (Positional("UNROLL", 0, 4),), OPENCL)
    assert kernel.applied == (Unroll("r0", 4),)


def test_group_counts_from_the_first_axis_that_is_not_grouped(kernel_of):  # row 45
    opts = (Positional("GROUP", 0, 4), Positional("GROUPTOP", 0, 2))
    kernel = apply_all(kernel_of("row_sum"), opts, OPENCL)
    assert kernel.applied == (Group("r0", 4), GroupTop("r0.o", 2))


@pytest.mark.parametrize("opt", ["UPCAST", "LOCAL", "PADTO", "SWAP"])
def test_the_other_opts_count_all_axes(kernel_of, opt):  # row 45
    amount = {"SWAP": 1, "PADTO": 16}.get(opt, 4)
    kernel = apply_all(kernel_of("matmul"), (Positional(opt, 0, amount),), OPENCL)
    assert kernel.applied[0].axis == "g0"


def test_an_opt_of_an_unknown_name_is_refused(kernel_of):
    assert Positional("STAGE", 0, 0).why_illegal(kernel_of("matmul"), OPENCL) == (
        "is unknown, use one of UPCAST UNROLL LOCAL GROUP GROUPTOP PADTO SWAP NOLOCALS LDS KEEP TC"
    )


# --- one by one ---


@pytest.mark.parametrize("opt", ["LOCAL g0 4", "GROUP r0 4", "GROUPTOP r0 4"])
def test_after_nolocals_no_work_group_is_made(kernel_of, opt):  # row 43
    reason = why(kernel_of("row_sum"), f"NOLOCALS; {opt}")
    assert reason == "NOLOCALS has been applied, leave it out"


def test_local_needs_work_groups(kernel_of):  # row 49
    assert why(kernel_of("row_sum"), "LOCAL g0 4", LLVM) == "llvm has no work-groups, use UPCAST"


def test_local_needs_a_global_axis(kernel_of):  # row 49
    assert why(kernel_of("row_sum"), "LOCAL r0 4") == "needs a global axis, r0 is REDUCE"
    assert why(kernel_of("row_sum"), "LOCAL g0 4; LOCAL g0.i 2") == (
        "needs a global axis, g0.i is LOCAL"
    )


@pytest.mark.parametrize("opt", ["GROUP", "GROUPTOP"])
def test_group_needs_local_memory(kernel_of, opt):  # row 50
    assert why(kernel_of("row_sum"), f"{opt} r0 4", LLVM) == "llvm has no local memory, use UNROLL"
    bare = replace(OPENCL, capabilities=replace(OPENCL.capabilities, shared_bytes=0))
    assert why(kernel_of("row_sum"), f"{opt} r0 4", bare) is not None


@pytest.mark.parametrize("opt", ["GROUP", "GROUPTOP"])
def test_group_needs_a_reduce_axis_that_is_still_a_loop(kernel_of, opt):  # row 50
    needs = "needs a reduce axis that is still a loop"
    assert why(kernel_of("row_sum"), f"{opt} g0 4") == f"{needs}, g0 is GLOBAL"
    assert why(kernel_of("row_sum"), f"GROUP r0 8; {opt} r0.i 2") == f"{needs}, r0.i is GROUP"
    assert why(kernel_of("row_sum"), f"UNROLL r0 8; {opt} r0.i 2") == f"{needs}, r0.i is UNROLL"


@pytest.mark.parametrize("opt", ["GROUP", "GROUPTOP"])
def test_group_refuses_parallel_reduces(kernel_of, opt):  # row 50
    assert why(kernel_of("two_sums"), f"{opt} r0 4") == (
        "r0 is reduced by 2 parallel reduces, needs one"
    )


def test_local_memory_is_limited(kernel_of):  # row 48
    kernel = kernel_of("""
%0 = BUFFER float32 slot=0 size=64
%1 = BUFFER float32 slot=1 size=16384
%2 = LOAD float32 %1 view=[(64,256):(256,1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(64,256):(1,0)]
%5 = SINK void %4 axes=(g0:64,r0:256)
""")
    assert why(kernel, "UPCAST g0 16; LOCAL g0.o 2; GROUP r0 256") is None  # 32768 bytes exactly
    over = "needs 65536 bytes of local memory, opencl has 32768"
    assert why(kernel, "UPCAST g0 16; LOCAL g0.o 4; GROUP r0 256") == over
    assert why(kernel, "UPCAST g0 16; GROUP r0 256; LOCAL g0.o 4") == over
    assert why(kernel, "LOCAL g0 4; GROUP r0 256; UPCAST g0.o 16") == over
    assert why(kernel, "LOCAL g0 8; UPCAST g0.o 8; GROUP r0 128; UNROLL r0.o 2") is None


def test_local_memory_counts_the_accumulators_size(ast_of, kernel_of):  # row 48
    text = """
%0 = BUFFER float64 slot=0 size=64
%1 = BUFFER float64 slot=1 size=16384
%2 = LOAD float64 %1 view=[(64,256):(256,1)]
%3 = REDUCE float64 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(64,256):(1,0)]
%5 = SINK void %4 axes=(g0:64,r0:256)
"""
    assert why(kernel_of(text), "UPCAST g0 16; LOCAL g0.o 2; GROUP r0 256") is not None
    assert why(kernel_of(text), "UPCAST g0 16; GROUP r0 256") is None


def test_a_padded_group_axis_counts_too(kernel_of):  # row 48
    kernel = kernel_of("""
%0 = BUFFER float32 slot=0 size=16
%1 = BUFFER float32 slot=1 size=8000
%2 = LOAD float32 %1 view=[(16,500):(500,1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(16,500):(1,0)]
%5 = SINK void %4 axes=(g0:16,r0:500)
""")
    assert why(kernel, "UPCAST g0 16; GROUP r0 500; PADTO r0 512") is None
    assert why(kernel, "UPCAST g0 16; GROUP r0 500; PADTO r0 1024") is not None


def test_a_work_group_is_limited(kernel_of):
    kernel = kernel_of("""
%0 = BUFFER float32 slot=0 size=4096
%1 = BUFFER float32 slot=1 size=1
%2 = LOAD float32 %1 view=[(4096):(0)]
%3 = STORE void %0 %2 view=[(4096):(1)]
%4 = SINK void %3 axes=(g0:4096)
""")
    assert why(kernel, "LOCAL g0 1024") is None
    assert why(kernel, "LOCAL g0 2048") == "a work-group of 2048 items, opencl has 1024 at most"


def test_unroll_needs_a_reduce_axis_that_is_not_unrolled(kernel_of):  # row 51
    needs = "needs a reduce axis that is not unrolled yet"
    assert why(kernel_of("row_sum"), "UNROLL g0 4") == f"{needs}, g0 is GLOBAL"
    assert why(kernel_of("row_sum"), "UNROLL r0 4; UNROLL r0.i 2") == f"{needs}, r0.i is UNROLL"


def test_unroll_takes_32_at_most(kernel_of):  # row 51
    text = """
%0 = BUFFER float32 slot=0 size=1
%1 = BUFFER float32 slot=1 size=64
%2 = LOAD float32 %1 view=[(64):(1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(64):(0)]
%5 = SINK void %4 axes=(r0:64)
"""
    assert why(kernel_of(text), "UNROLL r0 32") is None
    assert why(kernel_of(text), "UNROLL r0 64") == "amount 64 is over 32, use 32 or less"


def test_upcast_needs_an_output_axis_that_is_not_upcast(kernel_of):  # row 52
    assert why(kernel_of("row_sum"), "UPCAST r0 4") == "needs an output axis, r0 is REDUCE"
    assert why(kernel_of("row_sum"), "UPCAST g0 4; UPCAST g0.i 2") == (
        "needs an output axis, g0.i is UPCAST"
    )


def test_upcast_takes_what_the_target_allows(kernel_of):  # row 52
    text = """
%0 = BUFFER float32 slot=0 size=128
%1 = BUFFER float32 slot=1 size=128
%2 = LOAD float32 %1 view=[(128):(1)]
%3 = STORE void %0 %2 view=[(128):(1)]
%4 = SINK void %3 axes=(g0:128)
"""
    assert why(kernel_of(text), "UPCAST g0 16") is None
    assert why(kernel_of(text), "UPCAST g0 32") == "amount 32 is over opencl's 16, use 16 or less"
    assert why(kernel_of(text), "UPCAST g0 64", LLVM) is None
    assert why(kernel_of(text), "UPCAST g0 128", LLVM) is not None


def test_nolocals_needs_work_groups_to_rule_out(kernel_of):  # row 53
    assert why(kernel_of("row_sum"), "NOLOCALS", LLVM) == "llvm has no work-groups, leave it out"
    assert why(kernel_of("row_sum"), "NOLOCALS; NOLOCALS") == (
        "NOLOCALS has been applied before, leave it out"
    )


@pytest.mark.parametrize("opt", ["LOCAL g0 4", "GROUP r0 4", "GROUPTOP r0 4"])
def test_nolocals_comes_before_any_work_group(kernel_of, opt):  # row 53
    assert "apply NOLOCALS first" in why(kernel_of("row_sum"), f"{opt}; NOLOCALS")


def test_swap_needs_two_global_axes_in_order(kernel_of):  # row 54
    assert why(kernel_of("matmul"), "SWAP g0 r0") == "needs two global axes, r0 is REDUCE"
    assert why(kernel_of("matmul"), "LOCAL g1 4; SWAP g0 g1.i") == (
        "needs two global axes, g1.i is LOCAL"
    )
    for text in ("SWAP g1 g0", "SWAP g0 g0"):
        assert why(kernel_of("matmul"), text).endswith("name the outer axis first")


def test_pad_to_needs_constant_sizes(kernel_of):  # row 55
    assert why(kernel_of("symbolic"), "PADTO g1 16") == (
        "the kernel has the variable n, needs constant sizes"
    )


def test_pad_to_needs_an_axis_that_is_not_upcast(kernel_of):  # row 55
    needs = "needs an axis that is still a loop"
    assert why(kernel_of("row_sum"), "UPCAST g0 4; PADTO g0.i 3") == f"{needs}, g0.i is UPCAST"
    assert why(kernel_of("row_sum"), "UNROLL r0 4; PADTO r0.i 3") == f"{needs}, r0.i is UNROLL"


def test_pad_to_must_lengthen_the_axis(kernel_of):  # row 55
    assert why(kernel_of("row_sum"), "PADTO g0 4") == "g0 of size 12 is a multiple of 4 already"


def test_pad_to_makes_less_than_four_times_the_work(kernel_of):  # row 55
    assert why(kernel_of("row_sum"), "PADTO g0 47") is None
    assert why(kernel_of("row_sum"), "PADTO g0 48") == (
        "g0 of size 12 grows to 48, more than 4 times the work; use a smaller amount"
    )


def test_pad_to_is_legal_under_any_reduce(kernel_of):  # row 55: each gets its own identity
    assert why(kernel_of("row_max"), "PADTO r0 32") is None


# --- LDS, row 56 ---


@pytest.mark.parametrize("buffer", [-1, 3, 99])
def test_lds_names_a_buffer_of_the_kernel(kernel_of, buffer):  # row 56
    assert why(kernel_of("matmul"), f"LOCAL g0 4; LDS {buffer}") == (
        f"no buffer {buffer}, the kernel has 3 counted from 0"
    )


@pytest.mark.parametrize("buffer", [None, True, 1.0, "g0"])
def test_lds_takes_the_number_of_a_buffer(kernel_of, buffer):  # row 56
    kernel = apply_all(kernel_of("matmul"), parse_opts("LOCAL g0 4"), OPENCL)
    assert Lds(buffer).why_illegal(kernel, OPENCL) == (
        f"buffer {buffer} is {type(buffer).__name__}, use the number of one"
    )


def test_lds_stages_what_is_read(kernel_of):  # row 56
    assert why(kernel_of("matmul"), "LOCAL g0 4; LDS 0") == "buffer 0 is not read"


def test_lds_is_done_once_per_buffer(kernel_of):  # row 56
    words = "buffer 1 is read through local memory already"
    assert why(kernel_of("matmul"), "LOCAL g0 4; LDS 1; LDS 1") == words


def test_lds_needs_a_group_to_share_the_panel(kernel_of):
    words = "the kernel has no work-groups to share a panel, apply LOCAL first"
    assert why(kernel_of("matmul"), "LDS 1") == words
    assert why(kernel_of("matmul"), "LDS 1", LLVM) is None


def test_a_group_shares_a_sum_or_panels(kernel_of):
    words = "work items that share a sum fill no panel together, use LDS or GROUP"
    assert why(kernel_of("matmul"), "GROUP r0 4; LDS 1") == words
    assert why(kernel_of("matmul"), "LOCAL g0 4; LDS 1; GROUPTOP r0 4") == words


def test_lds_needs_local_memory(kernel_of):
    without = replace(LLVM, capabilities=replace(LLVM.capabilities, shared_bytes=0))
    assert why(kernel_of("matmul"), "LDS 1", without) == "llvm has no local memory, leave it out"


def test_a_panel_fits_in_local_memory_whatever_follows(kernel_of):  # row 48
    small = replace(OPENCL, capabilities=replace(OPENCL.capabilities, shared_bytes=64))
    assert why(kernel_of("matmul"), "LOCAL g0 4; LDS 1", small) is None  # one term of 4 rows
    assert why(kernel_of("matmul"), "LOCAL g0 4; LDS 1; UNROLL r0 4", small) is None
    words = "no panel of buffer 1 fits in the 64 bytes of opencl"
    assert why(kernel_of("matmul"), "LOCAL g0 4; LDS 1; UNROLL r0 8", small) == words
    assert why(kernel_of("matmul"), "LOCAL g0 8; UNROLL r0 8; LDS 1", small) == words


def test_every_opt_has_a_legal_use(kernel_of):
    legal = (Upcast("g0", 4), Unroll("r0", 4), Local("g0", 4), Group("r0", 4), GroupTop("r0", 4),
             PadTo("g0", 5), Swap("g0", "g1"), NoLocals(), Lds(1))  # fmt: skip
    assert [*[type(opt) for opt in legal], Keep, Tc] == list(OPTS)  # KEEP, TC: on LLVM
    grouped = apply_all(kernel_of("matmul"), parse_opts("LOCAL g0 4"), OPENCL)
    kernels = [grouped if isinstance(opt, Lds) else kernel_of("matmul") for opt in legal]
    assert [
        opt.why_illegal(kernel, OPENCL) for opt, kernel in zip(legal, kernels, strict=True)
    ] == [None] * len(legal)


# --- KEEP ---


ROWS = """
%0 = BUFFER float32 slot=0 size=96
%1 = BUFFER float32 slot=1 size=96
%2 = LOAD float32 %1 view=[(12,8,8):(8,1,0)]
%3 = EXP2 float32 %2
%4 = LOAD float32 %1 view=[(12,8,8):(8,0,1)]
%5 = EXP2 float32 %4
%6 = REDUCE float32 %5 op=ADD axes=(r0)
%7 = FDIV float32 %3 %6
%8 = STORE void %0 %7 view=[(12,8,8):(8,1,0)]
%9 = SINK void %8 axes=(g0:12,g1:8,r0:8)
"""


def test_terms_that_outputs_need_again_may_be_kept(kernel_of):
    assert why(kernel_of(ROWS), "KEEP r0", LLVM) is None
    assert why(kernel_of(ROWS), "UNROLL r0 4; UPCAST g1 2; KEEP r0.o", LLVM) is None


def test_terms_that_no_output_needs_again_are_not_kept(kernel_of):
    other = ROWS.replace("%3 = EXP2", "%3 = NEG")
    words = "no output needs the terms of r0 again"
    assert why(kernel_of(other), "KEEP r0", LLVM) == words
    assert why(kernel_of("matmul"), "KEEP r0", LLVM) == words


def test_terms_are_kept_once(kernel_of):
    assert why(kernel_of(ROWS), "KEEP r0; KEEP r0", LLVM) == "the terms of r0 are kept already"


def test_work_items_of_a_group_keep_no_rows(kernel_of):
    words = "opencl has work-groups, whose items share no row, leave it out"
    assert why(kernel_of(ROWS), "KEEP r0") == words


def test_a_kept_row_fits_in_local_memory_with_all_its_lanes(kernel_of):
    small = replace(LLVM, capabilities=replace(LLVM.capabilities, shared_bytes=64))
    assert why(kernel_of(ROWS), "KEEP r0; UPCAST g0 2", small) is None
    words = "needs 128 bytes of local memory, llvm has 64"
    assert why(kernel_of(ROWS), "KEEP r0; UPCAST g0 4", small) == words
    assert why(kernel_of(ROWS), "UPCAST g0 4; KEEP r0", small) == words


def test_a_kept_row_has_no_padding(kernel_of):
    words = "lies along a row that KEEP holds as it is"
    assert why(kernel_of(ROWS), "KEEP r0; PADTO r0 3", LLVM) == f"r0 {words}"
    assert why(kernel_of(ROWS), "KEEP r0; PADTO g1 3", LLVM) == f"g1 {words}"
    assert why(kernel_of(ROWS), "KEEP r0; PADTO g0 5", LLVM) is None
    assert why(kernel_of(ROWS), "PADTO r0 3; KEEP r0", LLVM) == (
        "r0 is padded, use KEEP on a row as it is"
    )
    assert why(kernel_of(ROWS), "PADTO g1 3; KEEP r0", LLVM) == (
        "no output needs the terms of r0 again"
    )
