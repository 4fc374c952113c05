"""The training example learns, with the same losses bit for bit on both backends."""

import pytest

from compiler import open_device
from compiler.errors import DeviceError


@pytest.mark.slow
def test_the_net_learns_the_digits_with_the_same_losses_on_every_backend(capsys):
    digits = pytest.importorskip("examples.digits", reason="it needs scikit-learn")
    devices = ["llvm", "opencl"]
    try:
        open_device("opencl")
    except DeviceError:
        devices.remove("opencl")
    code = digits.main(["--device", *devices])
    lines = capsys.readouterr().out.splitlines()
    assert code == 0, lines
    assert len(lines) == len(devices)
