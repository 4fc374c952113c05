"""A program that ended while PoCL was still building lost PoCL's directory and crashed at exit.

Its kind: whatever has been started and not been waited for, the end of the process is quiet.
"""

import subprocess
import sys

import pytest

from compiler import CompilerError, open_device

PROGRAM = """
import numpy as np
from compiler import Tensor
x = Tensor(np.ones((3, 5, 7), np.float32), device={device!r})
kept = [(x * n).sum(axis=n % 3).realize() for n in range(3)]
"""


def works(device):
    try:
        open_device(device)
    except CompilerError:
        return False
    return True


@pytest.mark.parametrize("device", ["llvm", "opencl"])
def test_a_program_may_end_without_waiting_for_its_kernels(device):
    if not works(device):
        pytest.skip(f"no {device} device works here")
    command = [sys.executable, "-c", PROGRAM.format(device=device)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
