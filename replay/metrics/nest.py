"""Loops inside loops, and what happens in them: how readers of sources count."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from replay.metrics.whole import LIMIT


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a source does not say itself. `names` are the kernel's parameters in order."""

    launch: int  # work items, or the size of the outermost loop; 1 where there is neither
    group: tuple[int, ...]  # work items of a group, in each dimension; empty where there are none
    names: tuple[str, ...]
    variables: Mapping[str, int]  # the largest value of each parameter that is a number


@dataclass(frozen=True, slots=True)
class Work:
    """What one launch does. `reads` and `writes` count elements of buffers, not of local memory."""

    loops: int
    iterations: int
    reads: int
    writes: int


_DEEPEST = 64  # loops inside each other: no kernel of ours has half as many


@dataclass(slots=True)
class Nest:
    """The loops around the line that is being read. Owned by the reader of one source.

    A source may be anybody's text; what is too deep to be meant is not counted to its end.
    """

    trips: list[int] = field(default_factory=list)
    loops: int = 0
    iterations: int = 0
    reads: int = 0
    writes: int = 0

    def open(self, trips: int) -> None:
        """Begin a loop whose body runs `trips` times."""
        self.trips.append(max(0, trips))
        self.loops += 1
        self.iterations += prod(self.trips)

    @property
    def is_too_deep(self) -> bool:
        """Whether it is no use to read on."""
        return len(self.trips) > _DEEPEST

    def close(self) -> None:
        self.trips.pop()

    def read(self, elements: int) -> None:
        self.reads += elements * prod(self.trips)

    def write(self, elements: int) -> None:
        self.writes += elements * prod(self.trips)

    def work(self) -> Work | None:
        """A kernel without any loop runs its body once; None where a number cannot be meant."""
        if max(self.iterations, self.reads, self.writes) > LIMIT:
            return None
        return Work(self.loops, max(1, self.iterations), self.reads, self.writes)
