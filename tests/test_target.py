"""Targets: profiles of devices, most of which are not here."""

import pytest

from compiler import OptionError, Tensor, compile_kernel, find_target, parse_node
from compiler.kernel import Local, Upcast, apply_all, choose, format_opts, from_ast, parse_opts
from compiler.options import DEFAULT, CompileOptions, CoreUse, ScheduleOptions
from compiler.target import PROFILES

MATMUL = """ir 1
%0 = BUFFER {dtype} slot=0 size=16384
%1 = BUFFER {dtype} slot=1 size=16384
%2 = LOAD {dtype} %1 view=[(128,128,128):(128,0,1)]
%3 = BUFFER {dtype} slot=2 size=16384
%4 = LOAD {dtype} %3 view=[(128,128,128):(0,1,128)]
%5 = MUL {dtype} %2 %4
%6 = REDUCE {dtype} %5 op=ADD axes=(r0)
%7 = STORE void %0 %6 view=[(128,128,128):(128,1,0)]
%8 = SINK void %7 axes=(g0:128,g1:128,r0:128)
"""
COPY = """ir 1
%0 = BUFFER float32 slot=0 size=1024
%1 = BUFFER float32 slot=1 size=1024
%2 = LOAD float32 %1 view=[(1024):(1)]
%3 = NEG float32 %2
%4 = STORE void %0 %3 view=[(1024):(1)]
%5 = SINK void %4 axes=(g0:1024)
"""
LONG_SUMS = """ir 1
%0 = BUFFER float64 slot=0 size=24576
%1 = BUFFER float64 slot=1 size=393216
%2 = LOAD float64 %1 view=[(24576,16):(16,1)]
%3 = REDUCE float64 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(24576,16):(1,0)]
%5 = SINK void %4 axes=(g0:24576,r0:16)
"""
WIDE_SUMS = "UPCAST g0 16; GROUP r0 2"
COMPILED = [target for target in PROFILES if target.backend != "reference"]
EVERY = pytest.mark.parametrize("target", COMPILED, ids=lambda target: target.name)


def matmul(dtype="float32"):
    return parse_node(MATMUL.format(dtype=dtype))


def kernel(dtype="float32"):
    return from_ast(matmul(dtype))


def opts_of(target):
    return choose(kernel(), find_target(target), DEFAULT)


def test_every_profile_has_a_name_of_its_own():
    assert len({target.name for target in PROFILES}) == len(PROFILES)


def test_a_backend_alone_names_its_first_profile():
    assert [find_target(name).profile for name in ("llvm", "opencl", "reference")] == [
        "cpu",
        "opencl-1.2",
        "reference",
    ]


def test_both_spellings_of_a_target_name_the_same():
    assert find_target("opencl/adreno") is find_target("opencl", "adreno")


def test_an_unknown_profile_is_refused_with_the_known_ones():
    with pytest.raises(OptionError, match=r"'opencl/mali' is unknown.*opencl/adreno"):
        find_target("opencl/mali")


@EVERY
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_kernels_compile_without_the_device(target, dtype):
    assert compile_kernel(matmul(dtype), target).program.source


@EVERY
def test_no_vector_but_those_of_a_core_is_wider_than_the_target_has(target):
    widest = max(target.capabilities.vector_widths)
    options = CompileOptions(schedule=ScheduleOptions(core_use=CoreUse.NONE))
    nodes = compile_kernel(matmul(), target, options=options).stages[-1].node.src
    assert max([node.dtype.count for node in nodes]) <= widest


def test_narrow_vectors_and_few_registers_make_smaller_tiles():
    chosen = {name: opts_of(f"llvm/{name}") for name in ("x86-64-v3", "x86-64-v4", "aarch64")}
    tiles = {
        name: [opt.amount for opt in opts if isinstance(opt, Upcast)]
        for name, opts in chosen.items()
    }
    products = {name: columns * rows for name, (columns, rows) in tiles.items()}
    assert products["x86-64-v3"] <= 16 * 8
    assert products["aarch64"] <= 32 * 4
    assert products["x86-64-v4"] > products["x86-64-v3"]


# row 48
@pytest.mark.parametrize(
    ("target", "shared_bytes"), [("opencl-1.2", 32768), ("nvidia", 49152), ("amd", 65536)]
)
def test_groups_fit_the_shared_memory_of_the_target(target, shared_bytes):
    target = find_target("opencl", target)
    groups = apply_all(from_ast(parse_node(LONG_SUMS)), parse_opts(WIDE_SUMS), target)
    most = shared_bytes // (2 * 16 * 8)  # two parts of sixteen sums of eight bytes per item
    assert Local("g0.o", most).why_illegal(groups, target) is None
    reason = Local("g0.o", 2 * most).why_illegal(groups, target)
    assert reason == f"needs {2 * shared_bytes} bytes of local memory, opencl has {shared_bytes}"


def test_a_dsp_upcasts_whole_vectors_of_128():  # row 52
    dsp, gpu = find_target("llvm/dsp"), find_target("opencl/adreno")
    assert Upcast("g1", 128).why_illegal(kernel(), dsp) is None
    assert "over opencl's 16" in Upcast("g1", 32).why_illegal(kernel(), gpu)


def test_a_dsp_merges_one_axis_of_128_where_a_buffer_repeats():  # row 67
    assert format_opts(opts_of("llvm/dsp")) == "UPCAST g1 128"
    assert format_opts(choose(from_ast(parse_node(COPY)), find_target("llvm/dsp"), DEFAULT)) == (
        "UPCAST g0 128"
    )


def test_wide_waves_take_more_of_the_outermost_axis():  # row 70
    amounts = {name: opts_of(f"opencl/{name}") for name in ("nvidia", "amd")}
    first = {n: next(o.amount for o in opts if isinstance(o, Local)) for n, opts in amounts.items()}
    assert first["amd"] >= first["nvidia"]


def test_halves_are_computed_with_where_the_target_can():
    with_math = compile_kernel(matmul("float16"), find_target("opencl/adreno")).program.source
    without = compile_kernel(matmul("float16"), find_target("opencl/pocl")).program.source
    assert "cl_khr_fp16 : enable" in with_math
    assert "half4 acc" in with_math
    assert "half" not in without.replace("half_", "")


def test_a_profile_without_doubles_refuses_them():
    with pytest.raises(TypeError, match="adreno has no float64"):
        compile_kernel(matmul("float64"), find_target("opencl/adreno"))


def test_a_device_is_opened_by_backend_and_refuses_profiles():
    with pytest.raises(OptionError):
        Tensor([1.0], device="opencl/adreno").numpy()
