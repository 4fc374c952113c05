"""What can be asked of a kernel."""

from dataclasses import FrozenInstanceError

import pytest

from compiler.ir import AxisKind
from compiler.kernel import accesses, apply_all, parse_opts
from compiler.target import OPENCL


def after(kernel, text):
    return apply_all(kernel, parse_opts(text), OPENCL)


def test_a_kernel_cannot_be_changed(kernel_of):  # row 12
    with pytest.raises(FrozenInstanceError):
        kernel_of("matmul").axes = ()


def test_an_opt_leaves_the_kernel_it_is_applied_to(kernel_of):  # row 12
    kernel = kernel_of("matmul")
    after(kernel, "UPCAST g0 4; LOCAL g1 4")
    assert [axis.name for axis in kernel.axes] == ["g0", "g1", "r0"]


def test_an_access_walks_memory_by_a_stride_per_axis(kernel_of):  # row 14
    kernel = after(kernel_of("matmul"), "UPCAST g0 4")
    left = next(a for a in accesses(kernel) if a.node.src[0].attr[0] == 1)
    strides = {axis.name: left.stride(kernel, axis) for axis in kernel.axes}
    assert strides == {"g0.o": 64, "g0.i": 16, "g1": 0, "r0": 1}


def test_a_stride_behind_a_symbolic_size_is_unknown(kernel_of):  # row 14
    kernel = kernel_of("""
%0 = VAR int64 name=n lo=1 hi=9
%1 = CONST int64 value=6 view=none
%2 = MUL int64 %0 %1
%3 = BUFFER float32 slot=0 size=%2
%4 = BUFFER float32 slot=1 size=%2
%5 = LOAD float32 %4 view=[(6,%0):(%0,1)]
%6 = STORE void %3 %5 view=[(6,%0):(1,6)]
%7 = SINK void %6 axes=(g0:6,g1:%0)
""")
    read, _ = accesses(kernel)
    assert dict(read.strides) == {"g0": None, "g1": 1}


def test_the_strides_of_stacked_views_are_those_of_the_index(kernel_of):  # row 14
    kernel = kernel_of("""
%0 = BUFFER float32 slot=0 size=12
%1 = BUFFER float32 slot=1 size=20
%2 = LOAD float32 %1 view=[(6,7):(5,1)+-6?(1:5,1:6)|(2,5,3):(21,1,7)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(2,5,3):(6,1,0)]
%5 = SINK void %4 axes=(g0:2,g1:5,r0:3)
""")
    read, _ = accesses(kernel)
    assert dict(read.strides) == {"g0": 15, "g1": 1, "r0": 5}
    assert read.masked == ("g0", "g1", "r0")


def test_axes_know_whether_they_belong_to_a_reduce(kernel_of):  # rows 15 and 77
    kernel = after(kernel_of("matmul"), "LOCAL g0 4; GROUP r0 4; UNROLL r0.o 2; UPCAST g1 4")
    assert [axis.name for axis in kernel.output_axes] == ["g0.o", "g1.o", "g0.i", "g1.i"]
    assert [axis.name for axis in kernel.reduce_axes] == ["r0.i", "r0.o.o", "r0.o.i"]


def test_axes_are_found_by_kind_and_by_name(kernel_of):  # row 16
    kernel = after(kernel_of("matmul"), "LOCAL g0 4")
    assert [axis.name for axis in kernel.of_kind(AxisKind.GLOBAL, AxisKind.REDUCE)] == [
        "g0.o", "g1", "r0",
    ]  # fmt: skip
    assert kernel.find("g0.i").kind is AxisKind.LOCAL
    assert kernel.find("g0") is None


def test_the_domain_keeps_the_sizes_of_the_ast(kernel_of):  # row 17
    kernel = after(kernel_of("matmul"), "PADTO g0 3; UPCAST g0 3")
    assert kernel.domain == (("g0", 8), ("g1", 12), ("r0", 16))
