"""The judges of a search."""

from collections.abc import Sequence

from compiler.backends import Program
from compiler.bench import Bench
from compiler.kernel import Lowered

_FEWEST = 8  # schedules of a round that are timed, however narrow the beam
_PER_PLACE = 3  # and for each place in the beam


class ByModel:
    """Believes the model, where it promises enough."""

    margin = 0.9  # it ranks, but a few percent of a model mean nothing

    def select(self, lowered: Sequence[Lowered[Program]], beam: int) -> Sequence[Lowered[Program]]:
        """All: judging costs nothing."""
        return lowered

    def costs(
        self, lowered: Sequence[Lowered[Program]], *, is_final: bool
    ) -> Sequence[float | str]:
        """The cycles, as they were counted."""
        return [each.cycles for each in lowered]


class ByTime:
    """Runs those that the model likes best, in turns. Costs are seconds of one run."""

    margin = 0.97  # what is nearer may be noise, and the heuristics' choice needs no search

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def select(self, lowered: Sequence[Lowered[Program]], beam: int) -> Sequence[Lowered[Program]]:
        """The first few by the model: building and running is what takes the time."""
        most = max(_FEWEST, _PER_PLACE * beam)
        return sorted(lowered, key=lambda each: each.cycles)[:most]

    def costs(
        self, lowered: Sequence[Lowered[Program]], *, is_final: bool
    ) -> Sequence[float | str]:
        """The least seconds of several interleaved turns."""
        return self._bench.times([each.program for each in lowered], is_careful=is_final)
