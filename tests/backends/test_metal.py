"""Metal's text. No such device is here: what can be held against it is what the language says."""

import re
from pathlib import Path

import pytest

from compiler import compile_kernel, find_target, parse_node
from compiler.backends import arguments_of, find_backend, open_device
from compiler.errors import BuildError, DeviceError, DTypeError
from compiler.ir import FLOAT32, INT32, Op
from compiler.kernel import parse_opts
from corpus import Stored, open_reader

METAL = find_target("metal")
SEEDS = Path("corpus/seeds/seeds.txt")
SUM = """ir 1
%0 = BUFFER float32 slot=0 size=8
%1 = BUFFER {dtype} slot=1 size=2048
%2 = LOAD {dtype} %1 view=[(8,256):(256,1)]
%3 = CAST float32 %2
%4 = REDUCE float32 %3 op=ADD axes=(r0)
%5 = STORE void %0 %4 view=[(8,256):(1,0)]
%6 = SINK void %5 axes=(g0:8,r0:256)
"""
COPY = """ir 1
%0 = BUFFER float32 slot=0 size=64
%1 = BUFFER int32 slot=1 size=64
%2 = LOAD int32 %1 view=[(64):(1)]
%3 = CAST float32 %2
%4 = STORE void %0 %3 view=[(64):(1)]
%5 = SINK void %4 axes=(g0:64)
"""


def text(ast, opts=None):
    opts = None if opts is None else parse_opts(opts)
    return compile_kernel(parse_node(ast), METAL, opts=opts).program.source


def sum_of(count):
    """A kernel that adds `count` buffers."""
    steps = ["BUFFER float32 slot=0 size=8"]

    def step(line):
        steps.append(line)
        return f"%{len(steps) - 1}"

    total = None
    for slot in range(1, count + 1):
        buffer = step(f"BUFFER float32 slot={slot} size=8")
        loaded = step(f"LOAD float32 {buffer} view=[(8):(1)]")
        total = step(f"ADD float32 {total} {loaded}") if total else loaded
    store = step(f"STORE void %0 {total} view=[(8):(1)]")
    step(f"SINK void {store} axes=(g0:8)")
    return "\n".join(["ir 1", *[f"%{number} = {line}" for number, line in enumerate(steps)], ""])


@pytest.mark.parametrize("opts", ["", "UPCAST g0 4"])
def test_a_kernel_has_31_arguments_at_most(opts):
    assert "[[buffer(30)]]" in text(sum_of(30), opts)
    with pytest.raises(BuildError, match=r"has 32 arguments, and Metal has places for 31; realize"):
        text(sum_of(31), opts)


def test_a_kernel_says_how_floats_are_meant_and_where_arguments_are():
    source = text(SUM.format(dtype="float16"), "")
    assert source.startswith("#include <metal_stdlib>\n#pragma METAL fp math_mode(safe)\n")
    assert "device float *data0 [[buffer(0)]], const device half *data1 [[buffer(1)]]" in source
    assert "uint3 item [[thread_position_in_grid]]" in source
    assert "int group0 = item.x;" in source


def test_groups_share_memory_and_wait_for_each_other():
    source = text(SUM.format(dtype="float16"), "GROUP r0 16")
    assert "[[max_total_threads_per_threadgroup(16)]]\nkernel void " in source
    assert "int group0 = group.x;" in source
    assert "int local0 = inside.x;" in source
    assert re.search(r"^  threadgroup float \w+\[16\];$", source, re.MULTILINE)
    assert "threadgroup_barrier(mem_flags::mem_threadgroup);" in source


def test_vectors_in_memory_are_packed_and_lanes_have_letters():
    summed = text(SUM.format(dtype="float16"), "UPCAST g0 4; UNROLL r0 4")
    assert "half4(*(const device packed_half4*)(data1 + " in summed
    assert re.search(r"\bacc\d\.xy \+ acc\d\.zw;", summed)
    copied = text(COPY, "UPCAST g0 4")
    assert "*(device packed_float4*)(data0 + " in copied
    assert not re.search(r"vload|vstore|as_float|convert_|\.s\d", summed + copied)


def test_what_metal_lacks_is_refused(code):
    with pytest.raises(DTypeError, match="target apple7 has no float64, use float32"):
        text(SUM.format(dtype="float64"))
    code.write(
        code.buffer(0, FLOAT32, 1),
        code.const(INT32, 0),
        code.emit(Op.ERF, FLOAT32, (code.const(FLOAT32, 0.5),)),
    )
    program = code.program()
    with pytest.raises(BuildError, match=r"ERF.*metal has no such op"):
        find_backend("metal").render(program, "k", arguments_of(program), METAL)
    with pytest.raises(DeviceError, match="metal: kernels are compiled and compared, not run"):
        open_device("metal")


def test_every_seed_has_a_text_with_types_of_metal_alone():
    with open_reader(SEEDS) as reader:
        asts = dict.fromkeys(item.record.ast for item in reader if isinstance(item, Stored))
    sources = [text(ast) for ast in asts if "float64" not in ast]
    assert len(sources) > 200
    foreign = re.compile(r"\b(?:double|__\w+|as_(?!type<)\w+|[a-z]+(?:8|16)\s+\w+ =)")
    assert [found[0] for source in sources if (found := foreign.search(source))] == []
