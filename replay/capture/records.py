"""Records from what a captured process says in plain values: the half of the codec that needs no
compiler, so that the capturing process need not import one.
"""

from collections.abc import Mapping

import msgspec

from corpus import (
    Argument,
    Estimates,
    KernelRecord,
    Launch,
    Opt,
    Scalar,
    Status,
)

KIND = "kernel-replay"
STAGE_MARK = "s"
"""What the digest of a stage begins with. Older records have digests of texts: 16 hex digits."""

Plain = dict[str, object]
"""What plain.py makes: JSON's kinds of values, under the names of a record's fields."""

# What each option was when it first existed. A record names only the options that differ from this,
# so that a new option or default leaves the keys of old records alone. Lines are only ever added.
FIRST_DEFAULTS: Mapping[str, Scalar] = {
    "math.transcendental": "portable",
    "math.fma": True,
    "schedule.heuristics": "default",
    "schedule.max_nodes": 20000,
    "schedule.core_use": "real",
    "schedule.core": "any",
    "schedule.core_matching": "loads",
    "schedule.matvec": True,
    "schedule.matvec_block": 4,
    "schedule.matvec_threads": 8,
    "schedule.matvec_rows": 4,
    "schedule.group_outputs": 2048,
    "schedule.upcast_outputs": 1024,
    "schedule.locals": True,
    "schedule.group_items": 128,
    "schedule.tile_columns": 32,
    "schedule.tile_rows": 14,
    "schedule.tile_registers": 28,
    "schedule.staged_rows": 32,
    "schedule.staged_bytes": 1 << 15,
    "schedule.vector_lanes": 16,
    "schedule.threaded": 16,
    "schedule.max_unrolled": 64,
    "search.beam": 0,
    "search.depth": 6,
    "search.cost": "model",
    "search.tries": 300,
    "search.limit_s": 10,
    "name": None,
}


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a compile answered. Its fields are those of a record."""

    applied: tuple[Opt, ...]
    name: str
    source: str
    stages: tuple[tuple[str, str], ...] = ()
    launch: Launch
    arguments: tuple[Argument, ...]
    estimates: Estimates
    rewrites: int


def question_of(plain: Plain) -> KernelRecord:
    """A record of a question, from what `plain_question` says of it."""
    options = plain["options"]
    if not isinstance(options, dict):
        raise TypeError(f"options are {options!r:.40}, not a mapping")
    fields = {**plain, "kind": KIND, "status": "started", "options": _encode_options(options)}
    return msgspec.convert(fields, KernelRecord)


def answer_of(plain: Plain) -> dict[str, object]:
    """The fields that complete a record, from what `plain_answer` says of them."""
    return {"status": Status.FINISHED, **msgspec.structs.asdict(answered(plain))}


def answered(plain: Plain) -> Answer:
    """The same, as one value."""
    return msgspec.convert(plain, Answer)


def _encode_options(options: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The options that differ from what they were when they first existed."""
    return {
        name: value
        for name, value in options.items()
        if name not in FIRST_DEFAULTS or value != FIRST_DEFAULTS[name]
    }
