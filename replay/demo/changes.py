"""The two changes of the compiler that the demo makes, in copies of it. Each must apply exactly."""

from dataclasses import dataclass

from replay.patched import Patch


@dataclass(frozen=True, slots=True)
class Change:
    """A patched copy of the compiler; `name` is its directory, and that of its reports."""

    name: str
    what: str
    patches: tuple[Patch, ...]
    options: tuple[str, ...]  # of `replay run`
    is_wrong: bool


HARMLESS = Change(
    name="harmless",
    what="A harmless change: the heuristics may upcast half as many rows of a product",
    patches=(
        Patch(
            "compiler/kernel/heuristics/tiles.py",
            "tallest = min(options.tile_rows, lines)",
            "tallest = min(options.tile_rows // 2, lines)",
        ),
    ),
    options=("--mode", "free"),  # the recorded opts would hide it
    is_wrong=False,
)
HARMFUL = Change(
    name="harmful",
    what="A harmful change: reads outside a padded image are no longer replaced by 0",
    patches=(
        Patch(
            "compiler/passes/gates.py",
            "return b.where(_spread(b, gate, count), value, b.const(node.dtype, 0))",
            "return value",
        ),
    ),
    options=(),
    is_wrong=True,
)
CHANGES = (HARMLESS, HARMFUL)
