"""What the corpus knows of one kernel: plain fields, frozen, with one encoding.

To add a field: give it a default, add it at the end of its struct, and bless a new frozen sample in
tests/corpus/samples. To rename, drop or reinterpret one: raise SCHEMA and add a step to migrate.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import msgspec

SCHEMA = 1

Scalar = None | bool | int | float | str
"""What options, capabilities and fields of opts hold. Floats are finite, ints fit in 64 bits."""

Size = int | str
"""A size that is known, or the text of an expression over the kernel's variables."""


class Status(Enum):
    """How far the compile came. A start without a finish is a record too."""

    STARTED = "started"
    FINISHED = "finished"
    FAILED = "failed"


class ArgumentKind(Enum):
    IN = "in"
    OUT = "out"
    INOUT = "inout"
    VAR = "var"


class _Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Unknown fields are refused here, so that the decoder notices them and keeps them.

    A record cannot hold itself, so the cycle collector has no use for it; without it, reading a
    corpus takes two thirds of the time.
    """


class Target(_Struct, frozen=True, gc=False):
    """What the kernel was compiled for. Backend and profile are part of the key, not the rest."""

    backend: str
    profile: str
    capabilities: Mapping[str, Scalar] = {}


class Opt(_Struct, frozen=True, gc=False):
    """One schedule transformation, by name."""

    name: str
    fields: Mapping[str, Scalar] = {}


class Argument(_Struct, frozen=True, gc=False):
    """One parameter of the kernel, in the order of its signature. `size` counts elements."""

    name: str
    dtype: str
    size: Size
    kind: ArgumentKind


class Launch(_Struct, frozen=True, gc=False):
    """Sizes of the launch, outermost first; empty where a target has no such thing."""

    global_size: tuple[Size, ...] = ()
    local_size: tuple[Size, ...] = ()


class Estimates(_Struct, frozen=True, gc=False):
    flops: Size
    bytes: Size


class Provenance(_Struct, frozen=True, gc=False, kw_only=True):
    """Where a record comes from. Never part of the key, and the only part that differs by run."""

    revision: str | None = None
    dirty: bool | None = None
    toolchain: Mapping[str, str] = {}
    test_id: str | None = None
    call_site: str | None = None
    tensor_op: str | None = None
    captured_at: str | None = None
    occurrences: int = 1


class KernelRecord(_Struct, frozen=True, gc=False, kw_only=True):
    """One question put to a compiler, and what it answered.

    `kind` names the subject that can decode the record, as "kernel-replay".
    `ast`, `target.backend`, `target.profile`, `options` and `requested` are the question; see
    key.py. `options` holds only those that differ from their frozen first-version defaults.
    `requested` is None where the compiler was free to choose, `applied` is None where the compile
    never got that far. `stages` pairs the name of a stage with a hex digest (16 digits do).
    `rewrites` counts the rewrites of the compile. `numerics` is filled in by replay, not by
    capture. `extra` keeps fields that this version does not know, as msgpack under their path, so
    that a newer writer's record survives an older reader.
    """

    schema: int = SCHEMA
    kind: str
    ast: str
    target: Target
    options: Mapping[str, Scalar] = {}
    requested: tuple[Opt, ...] | None = None
    applied: tuple[Opt, ...] | None = None
    name: str | None = None
    source: str | None = None
    stages: tuple[tuple[str, str], ...] = ()
    launch: Launch | None = None
    arguments: tuple[Argument, ...] = ()
    estimates: Estimates | None = None
    rewrites: int | None = None
    numerics: Mapping[str, Scalar] | None = None
    status: Status = Status.FINISHED
    error: str | None = None
    provenance: Provenance = Provenance()
    extra: Mapping[str, bytes] | msgspec.UnsetType = msgspec.UNSET


class Unreadable(msgspec.Struct, frozen=True, gc=False):
    """Stands in a listing for a record whose bytes are not whole, so that it is never skipped."""

    key: str
    reason: str


class Stored(msgspec.Struct, frozen=True, gc=False):
    """A record and the key under which it was found; the two have been checked to agree."""

    key: str
    record: KernelRecord


Item = Stored | Unreadable

RawItem = tuple[str, bytes] | Unreadable
"""A key and its stored value, not yet decoded."""
