"""One compile for every size: programs over a symbolic axis equal those over a plain one."""

import numpy as np
import pytest

from compiler import Tensor, Variable, compiling, open_device, same_opts
from compiler.errors import DeviceError
from tests.frontend.symbolic_cases import ALL, FIXED, compiles, rows

LOW, PRIME, HIGH = 1, 7, 64
BATCH = Variable("batch", LOW, HIGH)


def both(program, device, n):
    """The result over a symbolic axis, and over a plain one."""
    bound = program(Tensor(rows(n), device=device).bind(BATCH)).numpy()
    return bound, program(Tensor(rows(n), device=device)).numpy()


@pytest.mark.parametrize("name", ALL)
def test_the_reference_gives_the_same_bits(name):
    for n in (HIGH, LOW, PRIME):
        bound, plain = both(ALL[name], "reference", n)
        assert (bound.shape, bound.dtype) == (plain.shape, plain.dtype)
        assert bound.tobytes() == plain.tobytes()


@pytest.mark.parametrize("name", ALL)
def test_kernels_are_compiled_once(name):
    def run(n):
        return ALL[name](Tensor(rows(n), device="reference").bind(BATCH)).numpy()

    run(LOW)
    assert compiles(lambda: [run(PRIME), run(HIGH), run(LOW + 1)]) == 0


@pytest.mark.parametrize("name", FIXED)
def test_what_needs_the_number_is_right_for_each(name):
    for n in (3, 1, 5):
        bound, plain = both(FIXED[name], "reference", n)
        assert (bound.shape, bound.dtype) == (plain.shape, plain.dtype)
        assert bound.tobytes() == plain.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("device", ["llvm", "opencl"])
def test_devices_give_the_same_bits_under_the_same_opts(name, device):
    agrees(name, device, choose=same_opts())


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("device", ["llvm", "opencl"])
def test_devices_agree_where_opts_are_chosen(name, device):
    agrees(name, device, choose=None)


@pytest.mark.parametrize("name", ["exp", "sum over", "matmul", "conv", "softmax over", "some rows"])
def test_llvm_gives_the_same_bits_under_the_same_opts(name):
    agrees(name, "llvm", choose=same_opts())


@pytest.mark.parametrize("name", ["sum beside", "outer", "layer norm", "cumsum over"])
def test_llvm_agrees_where_opts_are_chosen(name):
    agrees(name, "llvm", choose=None)


@pytest.mark.parametrize("name", ["mean"])
def test_opencl_gives_the_same_bits_under_the_same_opts(name):
    agrees(name, "opencl", choose=same_opts())


def agrees(name, device, choose):
    try:
        open_device(device)
    except DeviceError as error:
        pytest.skip(str(error))
    with compiling(choose=choose):
        for n in (PRIME, LOW, HIGH):
            bound, plain = both(ALL[name], device, n)
            assert bound.shape == plain.shape
            if choose is not None:
                assert bound.tobytes() == plain.tobytes()
            else:
                np.testing.assert_allclose(bound, plain, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("shift", [1, -1, 2, -2, 5, -5, 40, (2, 3)])
@pytest.mark.parametrize("low", [1, 3, 6])
def test_a_roll_is_one_compile_however_short_the_axis_is(low, shift):
    axis = (0, 1) if isinstance(shift, tuple) else 0
    variable = Variable("n", low, 37)

    def check(n):
        x = np.arange(n * 4, dtype=np.float32).reshape(n, 4)
        rolled = Tensor(x, device="reference").bind(variable).roll(shift, axis)
        np.testing.assert_array_equal(rolled.numpy(), np.roll(x, shift, axis))

    check(37)
    assert compiles(lambda: [check(n) for n in (low, low + 1, 11)]) == 0
