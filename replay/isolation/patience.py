"""How long a process was kept waiting: what a busy machine takes from it is not its own time."""

from contextlib import suppress
from pathlib import Path


def starved_s(process: int) -> float:
    """Seconds for which the thread that had the least luck was ready to run and had no core.

    0 where the system does not tell. The time that remains is what this thread ran or slept, so a
    limit that grows by it ends every endless loop, however many threads are in one.
    """
    waited_ns = 0
    for thread in Path(f"/proc/{process}/task").glob("*/schedstat"):  # Linux alone has these
        with suppress(OSError, IndexError, ValueError):  # a thread that has ended meanwhile
            waited_ns = max(waited_ns, int(thread.read_text(encoding="ascii").split()[1]))
    return waited_ns / 1e9
