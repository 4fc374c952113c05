"""TC: what it matches, by name and by number; a refusal leaves the kernel as it was."""

import pytest

from compiler.errors import IllegalOptError
from compiler.ir import CORES, find_core
from compiler.kernel import Positional, Tc, apply_all, from_ast, parse_opts
from tests.kernel.products import matmul, target_of

MMA = find_core("nvidia.m16n8k16.f16")


def test_the_axes_of_a_tile_are_the_digits_of_its_layout(axes_of):  # rows 26, 30 and 35
    kernel = apply_all(
        from_ast(matmul(32, 16, 32, MMA)), (Tc(MMA.name, "g1", "g0", "r0"),), target_of(MMA)
    )
    assert axes_of(kernel) == [
        "g0.o: GLOBAL of 2, 16 of g0",
        "g1.o: GLOBAL of 2, 8 of g1",
        "g0.w: LOCAL of 8, 1 of g0",
        "g1.w: LOCAL of 4, 2 of g1",
        "r0.o: REDUCE of 2, 16 of r0",
        "r0.i: UNROLL of 16, 1 of r0",
        "g0.e: UPCAST of 2, 8 of g0",
        "g1.e: UPCAST of 2, 1 of g1",
    ]


@pytest.mark.parametrize("numbers", ["0 -1 0 1", "0 0 0 1"])
def test_numbers_are_resolved_to_names(numbers):  # rows 32, 37, 38 and 44
    kernel = apply_all(
        from_ast(matmul(16, 8, 16, MMA)), parse_opts(f"TC {numbers}"), target_of(MMA)
    )
    assert kernel.applied == (Tc(MMA.name, "g1", "g0", "r0", 0, 1),)


@pytest.mark.parametrize(
    "opt",
    [
        Positional("TC", 0, 1, 0, 1),  # no such core
        Positional("TC", 1, 0, 0, 1),  # no such choice of axes
        Positional("TC", 0, 0, 3, 1),
        Positional("TC", 0, 0, 2, 4),
        Tc(MMA.name, "g1", "g0", "r0", 0, 1),  # 12 rows are no multiple of 16
        Tc(MMA.name, "g1", "g0", "r0", 2, 1),  # 2 rows would grow eightfold
    ],
)
@pytest.mark.parametrize("core", [core for core in CORES if core.items > 1][:3])
def test_a_refusal_leaves_the_kernel_as_it_was(opt, core):  # rows 34, 39 and 42
    kernel = from_ast(matmul(2, 12, 64, core))
    axes, pads, applied = kernel.axes, kernel.pads, kernel.applied
    with pytest.raises(IllegalOptError, match=r"^TC "):
        apply_all(kernel, (opt,), target_of(core))
    assert (kernel.axes, kernel.pads, kernel.applied) == (axes, pads, applied)
