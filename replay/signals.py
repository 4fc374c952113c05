"""Signals that end a replay: it shall end in good order."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def handling(number: signal.Signals, handler: Callable[..., object]) -> Iterator[None]:
    """Handle a signal so in the block; where only the main thread may say so, it does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)
