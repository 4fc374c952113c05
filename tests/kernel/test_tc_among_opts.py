"""TC and the opts after it: what they may touch, what they count, what is recorded."""

from dataclasses import replace

import pytest

from compiler.errors import IllegalOptError
from compiler.ir import find_core, parse_node
from compiler.kernel import Tc, apply_all, choose, from_ast, parse_opts
from compiler.options import CompileOptions, CoreMatching, ScheduleOptions
from compiler.target import LLVM, OPENCL, find_target
from tests.kernel.products import matmul, target_of

MMA, OUTER = find_core("nvidia.m16n8k16.f16"), find_core("cpu.outer16x16.f32")
BF16 = find_core("nvidia.m16n8k16.bf16")
TC = f"TC {MMA.name} g1 g0 r0 0 1"
STACKED = parse_node("""ir 1
%0 = BUFFER float32 slot=0 size=4096
%1 = BUFFER float32 slot=1 size=4096
%2 = LOAD float32 %1 view=[(16,16,16,16):(256,16,0,1)]
%3 = BUFFER float32 slot=2 size=256
%4 = LOAD float32 %3 view=[(16,16,16,16):(0,0,1,16)]
%5 = MUL float32 %2 %4
%6 = REDUCE float32 %5 op=ADD axes=(r0)
%7 = STORE void %0 %6 view=[(16,16,16,16):(16,256,1,0)]
%8 = SINK void %7 axes=(g0:16,g1:16,g2:16,r0:16)
""")
TWO = """ir 1
%0 = BUFFER float32 slot=0 size=256
%1 = BUFFER float32 slot=1 size=256
%2 = LOAD float32 %1 view=[(16,16,16):(16,0,1)]
%3 = BUFFER float32 slot=2 size=256
%4 = LOAD float32 %3 view=[(16,16,16):(0,1,16)]
%5 = MUL float32 %2 %4
%6 = REDUCE float32 %5 op=ADD axes=(r0)
%7 = BUFFER float32 slot=3 size=256
%8 = LOAD float32 %7 view=[(16,16,16):{rows}]
%9 = BUFFER float32 slot=4 size=256
%10 = LOAD float32 %9 view=[(16,16,16):{columns}]
%11 = MUL float32 %8 %10
%12 = REDUCE float32 %11 op=ADD axes=(r0)
%13 = ADD float32 %6 %12
%14 = STORE void %0 %13 view=[(16,16,16):(16,1,0)]
%15 = SINK void %14 axes=(g0:16,g1:16,r0:16)
"""


def product(core=MMA, tiles=4):
    return from_ast(matmul(*[tiles * core.size(axis) for axis in "mnk"], core))


def why(text, core=MMA, target=None):
    """The words with which the last opt is refused; None where it is legal."""
    target = target or target_of(core)
    *before, last = parse_opts(text)
    return last.why_illegal(apply_all(product(core), tuple(before), target), target)


def test_work_items_of_a_core_share_no_sum():  # row 50
    words = f"{MMA.name} adds up in one work-group, use UNROLL"
    assert why(f"{TC}; GROUP r0.o 2") == words
    assert why(f"{TC}; GROUPTOP r0.o 2") == words
    assert why(f"{TC}; UNROLL r0.o 2") is None


@pytest.mark.parametrize(
    "opt", ["UPCAST g0.w 2", "UPCAST g1.w 2", "LOCAL g0.e 2", "UNROLL r0.i 2", "PADTO g0.w 32"]
)
def test_the_axes_of_a_core_are_left_to_it(opt):  # row 52
    axis = opt.split()[1]
    assert why(f"{TC}; {opt}") == f"{axis} belongs to the tensor core {MMA.name}"


def test_what_is_left_of_its_axes_is_not():  # row 52
    assert why(f"{TC}; UPCAST g0.o 2") is None
    assert why(f"{TC}; UPCAST g1.o 4") is None


def test_a_core_reads_no_panel_and_comes_first():  # rows 44 and 56
    assert why(f"{TC}; LDS 1") == f"{MMA.name} reads by its layout, leave it out"
    assert why(f"UPCAST g0 2; {TC}") == "it has to be the first opt"
    assert why(f"{TC}; {TC}") == "it has to be the first opt"


@pytest.mark.parametrize(("core", "base"), [(MMA, OPENCL), (OUTER, OPENCL), (OUTER, LLVM)])
def test_operands_of_an_emulated_core_count_as_local_memory(core, base):  # row 48
    m, n, k = [core.size(axis) for axis in "mnk"]
    needed = (m * k + k * n) * core.dtypes[0].itemsize
    emulated = f"TC {core.name} g1 g0 r0 0 3"
    for have, more, reason in (
        (needed, "", None),
        (needed - 1, "", f"needs {needed} bytes of local memory, {base.backend} has {needed - 1}"),
        (needed, "; UPCAST g0.o 2", f"needs {needed + m * k * core.dtypes[0].itemsize} bytes"),
    ):
        target = replace(base, capabilities=replace(base.capabilities, shared_bytes=have))
        found = why(emulated + more, core, target)
        assert found is None if reason is None else found.startswith(reason)


def test_local_axes_go_outside_of_the_warp(axes_of):  # row 49
    kernel = apply_all(product(), parse_opts(f"{TC}; LOCAL g1.o 2; LOCAL g0.o 2"), target_of(MMA))
    local = [line.partition(":")[0] for line in axes_of(kernel) if ": LOCAL" in line]
    assert local == ["g1.o.i", "g0.o.i", "g0.w", "g1.w"]


def test_what_a_core_pads_and_cuts_is_recorded_as_one_opt():  # row 57
    kernel, target = from_ast(matmul(30, 12, 40, MMA)), target_of(MMA)
    matched = ScheduleOptions(core_matching=CoreMatching.PADDED)
    opts = choose(kernel, target, CompileOptions(schedule=matched))
    after = apply_all(kernel, opts, target)
    assert opts[0] == Tc(MMA.name, "g1", "g0", "r0", 2, 1)
    assert [type(opt).__name__ for opt in opts].count("Tc") == 1
    assert "PadTo" not in [type(opt).__name__ for opt in opts]
    assert len(after.pads) == 3
    assert after.applied == opts


@pytest.mark.parametrize(("axis", "rows"), [(0, "g1"), (1, "g0")])
def test_a_number_counts_choices_of_axes_from_the_last(axis, rows):  # row 32
    kernel = apply_all(from_ast(STACKED), parse_opts(f"TC {axis} 0 0 1"), target_of(OUTER))
    assert kernel.applied == (Tc(OUTER.name, "g2", rows, "r0", 0, 1),)


@pytest.mark.parametrize("axis", [2, -1])
def test_a_number_beyond_the_choices_is_refused(axis):  # row 32
    with pytest.raises(IllegalOptError, match="there are 2 choices of axes counted from 0"):
        apply_all(from_ast(STACKED), parse_opts(f"TC {axis} 0 0 1"), target_of(OUTER))


def test_any_core_is_the_first_that_fits_and_a_number_is_that_one():  # row 37
    target, kernel = find_target("opencl/nvidia-sm80"), product(BF16)
    for select in ("-1", "1"):
        kernel_after = apply_all(kernel, parse_opts(f"TC 0 {select} 0 1"), target)
        assert kernel_after.applied[0].core == BF16.name
    with pytest.raises(IllegalOptError, match=f"{MMA.name}: .*is no sum of products"):
        apply_all(kernel, parse_opts("TC 0 0 0 1"), target)
    with pytest.raises(IllegalOptError, match=r"core 3, .* has 3 counted from 0, or -1 for any"):
        apply_all(kernel, parse_opts("TC 0 3 0 1"), target)


def test_all_sums_of_a_kernel_have_the_same_rows_columns_and_terms():  # row 34
    opt, target = Tc(OUTER.name, "g1", "g0", "r0"), target_of(OUTER)
    same = parse_node(TWO.format(rows="(16,0,1)", columns="(0,16,1)"))
    turned = parse_node(TWO.format(rows="(0,16,1)", columns="(16,0,1)"))
    assert opt.why_illegal(from_ast(same), target) is None
    words = "the REDUCEs differ in rows, columns or terms"
    assert opt.why_illegal(from_ast(turned), target) == words
