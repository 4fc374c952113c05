"""What each opt makes of the loops, and how it is spelled by name and by number.

Numbers cannot see a split whose halves are swapped; these lines can. A new opt: a line in SHAPES.
"""

from dataclasses import dataclass

import pytest

from compiler.errors import IllegalOptError
from compiler.kernel import (
    OPTS,
    Group,
    GroupTop,
    Keep,
    Lds,
    Local,
    NoLocals,
    PadTo,
    Swap,
    Tc,
    Unroll,
    Upcast,
    apply_all,
    format_opt,
    parse_opt,
    parse_opts,
    to_positional,
)
from compiler.target import LLVM, OPENCL, find_target

TILES = find_target("llvm/tiles")
SOFTMAX = """
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
PRODUCT = """
%0 = BUFFER float32 slot=0 size=1536
%1 = BUFFER float32 slot=1 size=128
%2 = LOAD float32 %1 view=[(32,48,4):(4,0,1)]
%3 = BUFFER float32 slot=2 size=192
%4 = LOAD float32 %3 view=[(32,48,4):(0,1,48)]
%5 = MUL float32 %2 %4
%6 = REDUCE float32 %5 op=ADD axes=(r0)
%7 = STORE void %0 %6 view=[(32,48,4):(48,1,0)]
%8 = SINK void %7 axes=(g0:32,g1:48,r0:4)
"""


@dataclass(frozen=True)
class Shape:
    """A use of an opt after others: its two spellings, and all that a kernel then has."""

    kernel: str
    by_name: str
    by_number: str
    axes: str  # in nesting order: name kind size x step of the axis they are pieces of
    beside: str = "locals"  # what else the kernel knows
    before: str = ""
    target: object = OPENCL


SHAPES = {
    Upcast: [
        Shape(
            "matmul", "UPCAST g0 4", "UPCAST 0 4",
            "g0.o GLOBAL 2x4 g0 | g1 GLOBAL 12x1 g1 | r0 REDUCE 16x1 r0 | g0.i UPCAST 4x1 g0",
        ),
        Shape(
            "matmul", "UPCAST g1 12", "UPCAST 1 12",
            "g0 GLOBAL 8x1 g0 | r0 REDUCE 16x1 r0 | g1 UPCAST 12x1 g1",
        ),
    ],
    Unroll: [
        Shape(
            "matmul", "UNROLL r0 4", "UNROLL 0 4",
            "g0 GLOBAL 8x1 g0 | g1 GLOBAL 12x1 g1 | r0.o REDUCE 4x4 r0 | r0.i UNROLL 4x1 r0",
        ),
    ],
    Local: [
        Shape(
            "matmul", "LOCAL g0 4", "LOCAL 0 4",
            "g0.o GLOBAL 2x4 g0 | g1 GLOBAL 12x1 g1 | g0.i LOCAL 4x1 g0 | r0 REDUCE 16x1 r0",
        ),
    ],
    Group: [
        Shape(
            "matmul", "GROUP r0 8", "GROUP 0 8",
            "g0 GLOBAL 8x1 g0 | g1 GLOBAL 12x1 g1 | r0.i GROUP 8x1 r0 | r0.o REDUCE 2x8 r0",
        ),
    ],
    GroupTop: [
        Shape(
            "matmul", "GROUPTOP r0 8", "GROUPTOP 0 8",
            "g0 GLOBAL 8x1 g0 | g1 GLOBAL 12x1 g1 | r0.o GROUP 8x2 r0 | r0.i REDUCE 2x1 r0",
        ),
    ],
    PadTo: [
        Shape(
            "matmul", "PADTO g1 16", "PADTO 1 16",
            "g0 GLOBAL 8x1 g0 | g1 GLOBAL 16x1 g1.p | r0 REDUCE 16x1 r0",
            "g1.p 12 of g1x1 | locals",
        ),
        Shape(
            "matmul", "PADTO r0.i 3", "PADTO 3 3",
            "g0 GLOBAL 8x1 g0 | g1 GLOBAL 12x1 g1 | r0.o GROUP 8x2 r0 | r0.i REDUCE 3x1 r0.i.p",
            "r0.i.p 2 of r0x1 | locals",
            before="GROUPTOP r0 8",
        ),
    ],
    Swap: [
        Shape(
            "matmul", "SWAP g0 g1", "SWAP 0 1",
            "g1 GLOBAL 12x1 g1 | g0 GLOBAL 8x1 g0 | r0 REDUCE 16x1 r0",
        ),
    ],
    NoLocals: [
        Shape(
            "matmul", "NOLOCALS", "NOLOCALS",
            "g0 GLOBAL 8x1 g0 | g1 GLOBAL 12x1 g1 | r0 REDUCE 16x1 r0",
            "",
        ),
    ],
    Lds: [
        Shape(
            "matmul", "LDS 2", "LDS 2",
            "g0.o GLOBAL 2x4 g0 | g1 GLOBAL 12x1 g1 | g0.i LOCAL 4x1 g0 | r0 REDUCE 16x1 r0",
            "locals | staged 2",
            before="LOCAL g0 4",
        ),
    ],
    Keep: [
        Shape(
            SOFTMAX, "KEEP r0", "KEEP 2",
            "g0 GLOBAL 12x1 g0 | g1 GLOBAL 8x1 g1 | r0 REDUCE 8x1 r0",
            "locals | kept r0",
            target=LLVM,
        ),
    ],
    Tc: [
        Shape(
            PRODUCT, "TC cpu.outer16x16.f32 g1 g0 r0 0 1", "TC 0 0 0 1",
            "g0.o GLOBAL 2x16 g0 | g1.o GLOBAL 3x16 g1 | r0 REDUCE 4x1 r0"
            " | g0.e UPCAST 16x1 g0 | g1.e UPCAST 16x1 g1",
            "locals | cpu.outer16x16.f32: items , elements g1.e g0.e, terms None",
            target=TILES,
        ),
        Shape(
            PRODUCT, "TC nvidia.m16n8k8.tf32 g1 g0 r0 2 2", "TC 0 2 2 2",
            "g0.o GLOBAL 2x16 g0 | g1.o GLOBAL 6x8 g1 | g0.w LOCAL 8x1 g0 | g1.w LOCAL 4x2 g1"
            " | r0.i UNROLL 8x1 r0.p | g0.e UPCAST 2x8 g0 | g1.e UPCAST 2x1 g1",
            "r0.p 4 of r0x1 | locals"
            " | nvidia.m16n8k8.tf32: items g1.w g0.w, elements g1.e g0.e, terms r0.i",
        ),
    ],
}  # fmt: skip
CASES = [(opt, shape) for opt, shapes in SHAPES.items() for shape in shapes]
EVERY = pytest.mark.parametrize(
    ("opt", "shape"), CASES, ids=[f"{shape.by_name}" for _, shape in CASES]
)


def _axes(kernel):
    return " | ".join([f"{a.name} {a.kind.name} {a.size}x{a.step} {a.origin}" for a in kernel.axes])


def _beside(kernel):
    tile = kernel.tile
    said = [f"{pad.name} {pad.size} of {pad.origin}x{pad.step}" for pad in kernel.pads]
    said += ["locals"] * kernel.uses_locals
    said += [f"staged {slot}" for slot in kernel.staged] + [f"kept {name}" for name in kernel.kept]
    if tile is not None:
        items, elements = " ".join(tile.items), " ".join(tile.elements)
        said.append(f"{tile.core.name}: items {items}, elements {elements}, terms {tile.terms}")
    return " | ".join(said)


@pytest.fixture
def before(kernel_of, shape):
    return apply_all(kernel_of(shape.kernel), parse_opts(shape.before), shape.target)


def test_every_opt_has_a_line_here():
    assert list(SHAPES) == list(OPTS)


@EVERY
def test_an_opt_makes_these_loops(opt, shape, before):
    after = apply_all(before, parse_opts(shape.by_name), shape.target)
    assert _axes(after) == shape.axes
    assert _beside(after) == shape.beside
    assert isinstance(after.applied[-1], opt)


@EVERY
def test_both_spellings_of_an_opt_are_read_and_printed(opt, shape, before):
    named, numbered = parse_opt(shape.by_name), parse_opt(shape.by_number)
    assert isinstance(named, opt)
    assert (format_opt(named), format_opt(numbered)) == (shape.by_name, shape.by_number)
    assert format_opt(to_positional(named, before, shape.target)) == shape.by_number
    assert apply_all(before, (numbered,), shape.target) == apply_all(before, (named,), shape.target)


@EVERY
def test_what_an_opt_did_is_not_left_behind_by_one_that_fails(opt, shape, before):
    loops, beside, applied = _axes(before), _beside(before), before.applied
    with pytest.raises(IllegalOptError, match="UPCAST nowhere 2: no axis nowhere"):
        apply_all(before, parse_opts(f"{shape.by_name}; UPCAST nowhere 2"), shape.target)
    assert (_axes(before), _beside(before), before.applied) == (loops, beside, applied)
