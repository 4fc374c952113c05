"""The judges of a search."""

from collections.abc import Sequence

from compiler.backends import Program
from compiler.kernel import Lowered


class ByModel:
    """Believes the model, where it promises enough."""

    margin = 0.9  # it ranks, but a few percent of a model mean nothing

    def select(self, lowered: Sequence[Lowered[Program]], beam: int) -> Sequence[Lowered[Program]]:
        """All: judging costs nothing."""
        return lowered

    def costs(
        self, programs: Sequence[Lowered[Program]], *, is_final: bool
    ) -> Sequence[float | None]:
        """The cycles, as they were counted."""
        return [each.cycles for each in programs]
