"""Host memory that is used again, and only when nobody can see it any more."""

import threading

import numpy as np

from compiler.backends.memory import ALIGNMENT, LEAST_KEPT, copied, empty, is_whole

FLOATS = np.dtype(np.float32)
LARGE = LEAST_KEPT  # elements of 4 bytes: four times the least


def address(array):
    return array.ctypes.data


def test_memory_is_aligned_whatever_its_size():
    for size in (0, 1, 100, LARGE, LARGE + 1):
        assert address(empty(FLOATS, size)) % ALIGNMENT == 0


def test_memory_that_nobody_sees_is_used_again():
    first = empty(FLOATS, LARGE)
    where = address(first)
    del first
    assert address(empty(FLOATS, LARGE)) == where


def test_memory_is_not_used_again_while_a_view_shows_it():
    first = empty(FLOATS, LARGE)
    view = first[10:20].reshape(2, 5)
    where = address(first)
    del first
    second = empty(FLOATS, LARGE)
    assert address(second) != where
    del view


def test_a_copy_is_flat_and_row_by_row():
    rows = np.arange(LARGE, dtype=np.float32).reshape(128, -1)
    assert np.array_equal(copied(rows.T), rows.T.ravel())


def test_only_what_is_a_whole_block_is_whole():
    block = empty(FLOATS, LARGE)
    assert is_whole(block)
    assert not is_whole(block[1:])
    assert not is_whole(np.zeros(LARGE, np.float32))
    assert not is_whole(empty(FLOATS, 4))  # small ones are not kept


def test_threads_never_get_the_same_memory():
    wrong = []

    def work(number):
        for _ in range(200):
            block = empty(FLOATS, LARGE)
            block[:100] = number
            if not np.all(block[:100] == number):
                wrong.append(number)
            del block

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
