"""What a replay is given, and what it has found so far: data that its phases share."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Protocol, TypeVar

from corpus import Item, RawItem, Reader, Stored, Unreadable, decode_item
from replay.fingerprint import Memory
from replay.isolation.workers import Crew, Job, Reply, run_jobs
from replay.outcome import Outcome, Result
from replay.phases.journal import Journal, Phase
from replay.recompile import Mode, call
from replay.shard import WHOLE, Shard
from replay.subject import Detail

T = TypeVar("T")
NAMELESS = "~"  # begins the name of a result whose damaged record has no key
Progress = Callable[[str, int, int], None]


class Runner(Protocol):
    """What runs jobs: workers on this machine, or on those of a cluster."""

    def __call__(self, jobs: Iterable[Job[T]], crew: Crew) -> Iterator[tuple[Job[T], Reply]]:
        """Run every job; yield each with its reply, as they come."""


class Extent(Enum):
    """Which records a costly check looks at."""

    NONE = "none"
    CHANGED = "changed"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Plan:
    """How to replay. `old` compiles the baseline anew, where it is not the recorded one."""

    crew: Crew
    old: Crew | None = None
    mode: Mode = Mode.PINNED
    verify: Extent = Extent.CHANGED
    determinism: Extent = Extent.CHANGED
    across: bool = False  # run what is verified on the other backends, too
    times: bool = False  # whether changed kernels are timed beside their old ones
    memory_driver: Path | None = None  # the simulator that checks what kernels do to memory
    max_changes: int | None = None
    time_budget_s: float | None = None
    memory: Memory | None = None  # what need not be compiled
    journal: Journal | None = None  # what an interrupted replay has found already
    run_jobs: Runner = run_jobs


@dataclass(frozen=True, slots=True)
class Source:
    """Records in order of keys, read again by each phase that needs them. `count` of them come."""

    reader: Reader
    count: int
    chosen: tuple[str, ...] | None = None  # keys; None: all of them
    shard: Shard = WHOLE

    @classmethod
    def every(cls, reader: Reader) -> "Source":
        """All records of a corpus."""
        return cls(reader, len(reader))

    def raw(self) -> Iterator[RawItem]:
        """Every record as it is stored, not yet decoded."""
        if self.chosen is not None:
            return self.reader.values_of(self.chosen)
        if self.shard == WHOLE:
            return self.reader.values()
        return (raw for raw in self.reader.values() if self.shard.has(key_of_raw(raw)))

    def keys(self) -> Iterator[str]:
        """The keys of all records, which are not read."""
        if self.chosen is not None:
            return iter(self.chosen)
        keys = self.reader.keys()
        return keys if self.shard == WHOLE else filter(self.shard.has, keys)

    def items(self) -> Iterator[Item]:
        """Every record, decoded."""
        return (decode_item(raw) for raw in self.raw())

    def stored(self, keys: Iterable[str]) -> Iterator[Stored]:
        """Those of `keys` that can be read."""
        for raw in self.reader.values_of(keys):
            if isinstance(item := decode_item(raw), Stored):
                yield item


def key_of_raw(raw: RawItem) -> str:
    """The key under which something is stored."""
    return raw.key if isinstance(raw, Unreadable) else raw[0]


@dataclass(slots=True)
class Replayed:
    """What has been found so far. Owned by `replay`; whole after an interruption too."""

    results: dict[str, Result]
    compiles: int = 0
    is_interrupted: bool = False
    stopped: str | None = None
    known: int = 0  # records that were not compiled; only looked up
    is_file_known: bool = False  # as the corpus's bytes are those of an earlier replay
    resumed: int = 0  # records that an interrupted replay had compiled
    seen: int = 0  # records that have been looked at
    is_read: bool = False  # whether those are all
    damage: tuple[str, ...] = ()  # what is wrong with the container of the records
    digests: dict[str, bytes] = field(default_factory=dict)  # of the records that were compiled
    notes: list[str] = field(default_factory=list)
    toolchains: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, result: Result) -> None:
        """Note a result, or replace the one that its record had. Damage may have no key."""
        self.results[result.key or f"{NAMELESS}{len(self.results)}"] = result

    def ordered(self) -> tuple[Result, ...]:
        return tuple(self.results[key] for key in sorted(self.results))

    def keys_with(self, outcomes: Iterable[Outcome]) -> list[str]:
        """Keys of the results that have one of `outcomes`, in order."""
        wanted = frozenset(outcomes)
        return sorted(key for key, result in self.results.items() if result.outcome in wanted)


@dataclass(frozen=True, slots=True)
class Asked:
    """A record that a compiler is asked about, and the digest of its bytes."""

    stored: Stored
    digest: bytes


def jobs_of(items: Iterable[tuple[T, Stored]], mode: Mode, detail: Detail) -> Iterator[Job[T]]:
    """The compiles of records, each by the tag that it comes with."""
    for tag, stored in items:
        yield Job(tag, call(stored.record, mode, detail))


def restored(phase: Phase, key: str, plan: Plan, found: Replayed) -> bool:
    """Whether an interrupted replay has done this with the record; its result is taken over."""
    if plan.journal is None or key not in found.digests:
        return False
    entry = plan.journal.find(phase, key, found.digests[key])
    if entry is not None:
        found.add(entry.result)
    return entry is not None
