"""The array of a temporary is not copied, and the array of anything that is held always is."""

import numpy as np
import pytest

from compiler import Tensor
from compiler.backends.llvm.runtime import HostDevice
from compiler.frontend.temporaries import TEMPORARY

ROWS = np.arange(90000, dtype=np.float32).reshape(300, 300)


@pytest.fixture
def released(monkeypatch):
    """The buffers whose memory was given away."""
    found = []
    release = HostDevice.release

    def watched(device, buffer):
        found.append(buffer.size)
        return release(device, buffer)

    monkeypatch.setattr(HostDevice, "release", watched)
    return found


@pytest.mark.skipif(TEMPORARY is None, reason="this interpreter does not tell temporaries apart")
def test_the_result_of_a_temporary_is_not_copied(released):
    result = (Tensor(ROWS) + 1).numpy()
    assert released == [90000]
    result[0, 0] = 7  # it is the caller's
    assert np.array_equal(result[1], ROWS[1] + 1)


def test_a_tensor_that_is_held_keeps_its_elements(released):
    held = Tensor(ROWS) + 1
    held.numpy()[:] = 0
    assert released == []
    assert np.array_equal(held.numpy(), ROWS + 1)


def test_a_value_that_another_tensor_stands_for_keeps_its_elements(released):
    rows = Tensor(ROWS)
    held = rows + 1
    (rows + 1).numpy()[:] = 0
    assert released == []
    assert np.array_equal(held.numpy(), ROWS + 1)


def test_elements_that_a_view_shows_are_kept(released):
    rows = (Tensor(ROWS) + 1).realize()
    rows.reshape(-1).numpy()[:] = 0
    assert np.array_equal(rows.numpy(), ROWS + 1)


def test_elements_that_a_later_graph_reads_are_kept(released):
    rows = (Tensor(ROWS) + 1).realize()
    doubled = rows * 2
    del rows
    assert np.array_equal(doubled.numpy(), (ROWS + 1) * 2)


def test_memory_given_away_is_not_used_again_while_the_array_lives():
    first = (Tensor(ROWS) + 1).numpy()
    kept = first[10:20, 5]
    del first
    for number in range(5):
        (Tensor(ROWS) * number).numpy()
    assert np.array_equal(kept, ROWS[10:20, 5] + 1)
