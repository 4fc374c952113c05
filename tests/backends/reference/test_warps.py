"""Lane layouts: as the vendors write them down, and executed lane by lane."""

import ml_dtypes
import numpy as np
import pytest

from compiler.backends.reference.warps import multiply
from compiler.errors import DeviceError
from compiler.ir import COPIES, CORES, find_core

# (row or term, column or term) of element i that lane w holds, as the sources in cores.py have it


def _mma_a(w, i):
    return w // 4 + 8 * (i // 2 % 2), w % 4 * 2 + i % 2 + 8 * (i // 4)


def _mma_b(w, i):
    return w % 4 * 2 + i % 2 + 8 * (i // 2), w // 4


def _mma_c(w, i):
    return w // 4 + 8 * (i // 2), w % 4 * 2 + i % 2


def _simd(w, i):
    return (w // 4 & 4) + w // 2 % 4, (w // 4 & 2) * 2 + w % 2 * 2 + i


FORMULAS = {
    "nvidia.m16n8k16.f16": (_mma_a, _mma_b, _mma_c),
    "nvidia.m16n8k16.bf16": (_mma_a, _mma_b, _mma_c),
    "nvidia.m16n8k8.tf32": (
        lambda w, i: (w // 4 + 8 * (i % 2), w % 4 + 4 * (i // 2)),
        lambda w, i: (w % 4 + 4 * i, w // 4),
        _mma_c,
    ),
    **dict.fromkeys(
        ("amd.wmma16x16x16.f16", "amd.wmma16x16x16.bf16"),
        (
            lambda w, i: (w % 16, i),
            lambda w, i: (i, w % 16),
            lambda w, i: (2 * i + w // 16, w % 16),
        ),
    ),
    **dict.fromkeys(
        ("amd.mfma16x16x16.f16", "amd.mfma16x16x16.bf16"),
        (
            lambda w, i: (w % 16, 4 * (w // 16) + i),
            lambda w, i: (4 * (w // 16) + i, w % 16),
            lambda w, i: (4 * (w // 16) + i, w % 16),
        ),
    ),
    **dict.fromkeys(("apple.simdgroup8x8.f32", "apple.simdgroup8x8.f16"), (_simd, _simd, _simd)),
    **dict.fromkeys(
        ("intel.dpas8x8x16.f16", "intel.dpas8x8x16.bf16"),
        (
            lambda w, i: (i // 2, 2 * w + i % 2),
            lambda w, i: (i, w),
            lambda w, i: (i, w),
        ),
    ),
    "cpu.outer16x16.f32": (
        lambda w, i: (i, 0),
        lambda w, i: (0, i),
        lambda w, i: (i // 16, i % 16),
    ),
    "cpu.dpbf16ps": (
        lambda w, i: (0, i),
        lambda w, i: (i % 2, i // 2),
        lambda w, i: (0, i),
    ),
    "cpu.vpdpbusd": (
        lambda w, i: (0, i),
        lambda w, i: (i % 4, i // 4),
        lambda w, i: (0, i),
    ),
}
NAMES = [core.name for core in CORES]


def test_every_core_has_a_formula_to_be_compared_with():
    assert sorted(FORMULAS) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_layouts_are_those_of_the_vendors_formulas(name):  # row 78
    core = find_core(name)
    for layout, axes, formula in zip(
        (core.a, core.b, core.c), ("mk", "kn", "mn"), FORMULAS[name], strict=True
    ):
        for lane in range(core.items):
            for element in range(layout.count):
                place = tuple(layout.position(axis, lane, element) for axis in axes)
                assert place == formula(lane, element), (axes, lane, element)


@pytest.mark.parametrize("name", NAMES)
def test_every_element_is_held_as_often_as_the_layout_has_copies(name):
    core = find_core(name)
    for layout, axes in zip((core.a, core.b, core.c), ("mk", "kn", "mn"), strict=True):
        places = [
            tuple(layout.position(axis, lane, element) for axis in axes)
            for lane in range(core.items)
            for element in range(layout.count)
        ]
        sizes = core.size(axes[0]) * core.size(axes[1])
        copies = 2 ** layout.items.count(COPIES)
        assert len(set(places)) == sizes
        assert len(places) == sizes * copies


@pytest.mark.parametrize("name", NAMES)
def test_a_warp_multiplies_matrices(name):
    core = find_core(name)
    m, n, k = [core.size(axis) for axis in "mnk"]
    rng = np.random.default_rng(3)
    a, b, c = [
        rng.integers(0, 9, shape).astype(np.float32).astype(_numpy(dtype))
        for shape, dtype in zip(((m, k), (k, n), (m, n)), core.dtypes, strict=True)
    ]
    held = [
        _deal(core, layout, axes, matrix)
        for layout, axes, matrix in zip(
            (core.a, core.b, core.c), ("mk", "kn", "mn"), (a, b, c), strict=True
        )
    ]
    found = multiply(core, *held)
    expected = a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)
    np.testing.assert_array_equal(found, _deal(core, core.c, "mn", expected))


def test_copies_that_differ_are_an_error():
    core = find_core("amd.wmma16x16x16.f16")
    a = np.zeros((32, 16), np.float16)
    b, c = a.copy(), np.zeros((32, 8), np.float32)
    a[16, 3] = 1  # lane 0 holds the same element, and 0
    with pytest.raises(DeviceError, match="different copies"):
        multiply(core, a, b, c)


def test_dpbf16ps_flushes_what_is_subnormal():
    core = find_core("cpu.dpbf16ps")
    a = np.array([[1.0, 2.0**-130]], np.float32).astype(_numpy(core.dtypes[0]))
    b = np.ones((1, 32), np.float32).astype(a.dtype)
    c = np.full((1, 16), 2.0**-127, np.float32)
    np.testing.assert_array_equal(multiply(core, a, b, c), np.ones((1, 16), np.float32))


def test_tf32_sees_eleven_bits_of_an_operand():
    core = find_core("nvidia.m16n8k8.tf32")
    a = np.full((32, 4), 1 + 2.0**-11, np.float32)  # a tie, which goes away from zero
    b, c = np.ones((32, 2), np.float32), np.zeros((32, 4), np.float32)
    np.testing.assert_array_equal(multiply(core, a, b, c), np.full((32, 4), 8 * (1 + 2.0**-10)))


def _numpy(dtype):
    return np.dtype(ml_dtypes.bfloat16) if dtype.name == "bfloat16" else np.dtype(dtype.name)


def _deal(core, layout, axes, matrix):
    return np.array(
        [
            [
                matrix[tuple(layout.position(axis, lane, e) for axis in axes)]
                for e in range(layout.count)
            ]
            for lane in range(core.items)
        ]
    )
