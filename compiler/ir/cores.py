"""Tensor cores: which element of a small product each lane of each work item holds.

To add one: a line in CORES. A core multiplies a (m x k) with b (k x n) and adds c (m x n); the
work items of a warp each hold a few elements of all three. Layouts are maps of bits: of the number
of a work item in its warp, and of the number of an element among those that it holds, each bit is
a bit of a row (m), a column (n) or a term (k).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache

from compiler.ir.dtype import BFLOAT16, FLOAT16, FLOAT32, INT8, INT32, UINT8, DType

COPIES = "-"  # a bit of the work item that changes nothing: several hold the same elements


class Rounding(Enum):
    """How a core adds up. The products themselves are exact."""

    __hash__ = object.__hash__

    EACH = "each"  # c + a0 b0, rounded, + a1 b1, rounded, ...; integers wrap
    ONCE = "once"  # the exact sum, rounded once: what vendors do not specify is not better
    PAIRS = "pairs"  # like EACH, last term first; subnormals are 0, as operands and as results


@dataclass(frozen=True, slots=True)
class Layout:
    """The bits of a matrix, lowest first, by bit of the work item and by bit of the element."""

    items: tuple[str, ...]
    elements: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many elements a work item holds."""
        return 1 << len(self.elements)

    def position(self, axis: str, item: int, element: int) -> int:
        """The row, column or term (`axis` is m, n or k) of an element that a work item holds."""
        place = 0
        for bits, number in ((self.items, item), (self.elements, element)):
            for bit, name in enumerate(bits):
                if name[0] == axis:
                    place |= (number >> bit & 1) << int(name[1:])
        return place


@dataclass(frozen=True, slots=True)
class Core:
    """One instruction. `sees` are the significant bits of an operand that it looks at."""

    name: str
    dtypes: tuple[DType, DType, DType]  # of a, b and c
    a: Layout
    b: Layout
    c: Layout
    source: str  # where the layouts are documented
    rounding: Rounding = Rounding.ONCE
    sees: int | None = None  # None: all of them

    @property
    def items(self) -> int:
        """The work items of a warp."""
        return 1 << len(self.c.items)

    def size(self, axis: str) -> int:
        """The rows (m), columns (n) or terms (k) of one product."""
        layouts = (self.a, self.b, self.c)
        names = [name for each in layouts for name in (*each.items, *each.elements)]
        return 1 << len(dict.fromkeys([name for name in names if name[0] == axis]))


def find_core(name: str) -> Core | None:
    """The core of that name."""
    return _by_name().get(name)


@cache
def _by_name() -> Mapping[str, Core]:
    return {core.name: core for core in CORES}


def _layout(items: str, elements: str) -> Layout:
    return Layout(tuple(items.split()), tuple(elements.split()))


_PTX = "PTX ISA 8.7, 9.7.14.5: matrix fragments for mma"
_NVIDIA_C = _layout("n1 n2 m0 m1 m2", "n0 m3")
_NVIDIA_16 = (
    _layout("k1 k2 m0 m1 m2", "k0 m3 k3"),
    _layout("k1 k2 n0 n1 n2", "k0 k3"),
    _NVIDIA_C,
)
_NVIDIA_32 = (_layout("k0 k1 m0 m1 m2", "m3 k2"), _layout("k0 k1 n0 n1 n2", "k2"), _NVIDIA_C)

_RDNA3 = "AMD, How to accelerate AI applications on RDNA 3 using WMMA, 2023"
_WMMA = (
    _layout("m0 m1 m2 m3 -", "k0 k1 k2 k3"),
    _layout("n0 n1 n2 n3 -", "k0 k1 k2 k3"),
    _layout("n0 n1 n2 n3 m0", "m1 m2 m3"),
)
_CDNA = "AMD lab notes, AMD matrix cores, 2022; CDNA3 ISA, 7.2: v_mfma_f32_16x16x16"
_MFMA = (
    _layout("m0 m1 m2 m3 k2 k3", "k0 k1"),
    _layout("n0 n1 n2 n3 k2 k3", "k0 k1"),
    _layout("n0 n1 n2 n3 m2 m3", "m0 m1"),
)
_METAL = "Metal Shading Language 3.2, 6.7; lanes as in MLX, steel/gemm/mma.h"
_SIMDGROUP = (
    _layout("k1 m0 m1 k2 m2", "k0"),
    _layout("n1 k0 k1 n2 k2", "n0"),
    _layout("n1 m0 m1 n2 m2", "n0"),
)
_XMX = "cl_intel_subgroup_matrix_multiply_accumulate, revision 1, sub-groups of 8"
_DPAS = (
    _layout("k1 k2 k3", "k0 m0 m1 m2"),
    _layout("n0 n1 n2", "k0 k1 k2 k3"),
    _layout("n0 n1 n2", "m0 m1 m2"),
)
_SDM = "Intel SDM volume 2: VDPBF16PS, VPDPBUSD"
_HALF = (FLOAT16, FLOAT16, FLOAT32)
_BRAIN = (BFLOAT16, BFLOAT16, FLOAT32)
_SINGLE = (FLOAT32, FLOAT32, FLOAT32)

CORES: tuple[Core, ...] = (
    Core("nvidia.m16n8k16.f16", _HALF, *_NVIDIA_16, _PTX),
    Core("nvidia.m16n8k16.bf16", _BRAIN, *_NVIDIA_16, _PTX),
    Core("nvidia.m16n8k8.tf32", _SINGLE, *_NVIDIA_32, _PTX, sees=11),
    Core("amd.wmma16x16x16.f16", _HALF, *_WMMA, _RDNA3),
    Core("amd.wmma16x16x16.bf16", _BRAIN, *_WMMA, _RDNA3),
    Core("amd.mfma16x16x16.f16", _HALF, *_MFMA, _CDNA),
    Core("amd.mfma16x16x16.bf16", _BRAIN, *_MFMA, _CDNA),
    Core("apple.simdgroup8x8.f32", _SINGLE, *_SIMDGROUP, _METAL),
    Core("apple.simdgroup8x8.f16", _HALF, *_SIMDGROUP, _METAL),
    Core("intel.dpas8x8x16.f16", _HALF, *_DPAS, _XMX),
    Core("intel.dpas8x8x16.bf16", _BRAIN, *_DPAS, _XMX),
    Core(
        "cpu.outer16x16.f32",
        _SINGLE,
        _layout("", "m0 m1 m2 m3"),
        _layout("", "n0 n1 n2 n3"),
        _layout("", "n0 n1 n2 n3 m0 m1 m2 m3"),
        "an outer product in 16 vectors of 16 lanes, fused multiply-adds",
        Rounding.EACH,
    ),
    Core(
        "cpu.dpbf16ps",
        _BRAIN,
        _layout("", "k0"),
        _layout("", "k0 n0 n1 n2 n3"),
        _layout("", "n0 n1 n2 n3"),
        _SDM,
        Rounding.PAIRS,
    ),
    Core(
        "cpu.vpdpbusd",
        (UINT8, INT8, INT32),
        _layout("", "k0 k1"),
        _layout("", "k0 k1 n0 n1 n2 n3"),
        _layout("", "n0 n1 n2 n3"),
        _SDM,
        Rounding.EACH,
    ),
)
