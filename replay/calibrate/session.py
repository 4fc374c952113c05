"""One mutant after the other: the corpus is replayed against it, and what that lets live is fuzzed.

Only records count that the compiler as it is answers with `same`, and computes right.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from corpus import Reader, Selection, Unreadable, name_of, select
from replay.calibrate.mutants import Mutant
from replay.errors import ReplayError
from replay.fuzz import IMPORTS, Lab, run_campaign
from replay.fuzz import Plan as FuzzPlan
from replay.isolation.workers import Crew
from replay.outcome import CHANGED, FAILED_RUNS, Numerics, Outcome, Result
from replay.patched import copy_compiler
from replay.phases.plan import Extent, Progress, Source
from replay.phases.plan import Plan as ReplayPlan
from replay.phases.run import replay
from replay.scratch import scratch_directory


def _is_refused(result: Result) -> bool:
    return result.outcome in (Outcome.ERROR, Outcome.CRASH, Outcome.TIMEOUT, Outcome.MEMORY)


def _is_wrong(result: Result) -> bool:
    return result.numerics is Numerics.WRONG


def _is_another_each_time(result: Result) -> bool:
    return result.outcome is Outcome.NONDETERMINISTIC


def _is_changed(result: Result) -> bool:
    return result.outcome in CHANGED


SOURCE, FUZZ = "source", "fuzz"
ORACLES: tuple[tuple[str, Callable[[Result], bool]], ...] = (
    # what judges a record of a replay; all but the last say that something is wrong with it
    ("compile", _is_refused),
    ("numerics", _is_wrong),
    ("determinism", _is_another_each_time),
    (SOURCE, _is_changed),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to try. Fuzzing draws up to `examples` kernels for a mutant that a replay lets live."""

    mutants: Sequence[Mutant]
    crew: Crew
    examples: int
    backends: tuple[str, ...]
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Caught:
    """What the oracles say of one mutant: the records that each of them objects to.

    `fuzzed` counts the kernels that fuzzing examined, and `signature` is what it found.
    """

    mutant: Mutant
    by: Mapping[str, int]
    replay_s: float
    fuzzed: int = 0
    signature: str | None = None
    fuzz_s: float = 0.0

    @property
    def oracles(self) -> tuple[str, ...]:
        """Who says that something is wrong: seeing that a source is another is no proof."""
        named = [name for name, _ in ORACLES if self.by[name]]
        if not self.mutant.keeps_results:
            named = [name for name in named if name != SOURCE]
        return (*named, *([FUZZ] if self.signature else []))

    @property
    def is_killed(self) -> bool:
        return bool(self.oracles)


@dataclass(frozen=True, slots=True)
class Calibrated:
    """All mutants, judged by `records` records of a corpus.

    `left_out` counts those that no mutant can be judged by, by what a replay says of them.
    """

    records: int
    left_out: Mapping[str, int]
    caught: tuple[Caught, ...]

    @property
    def killed(self) -> int:
        return sum(each.is_killed for each in self.caught)


def calibrate(
    reader: Reader,
    selection: Selection,
    plan: Plan,
    progress: Progress,
    seen: Callable[[Caught], None],
) -> Calibrated:
    """Try every mutant of the plan; `seen` hears of each when it has been judged."""
    left_out: Counter[str] = Counter()
    chosen: list[str] = []
    for item in select(reader, selection):
        if isinstance(item, Unreadable):
            left_out[Outcome.UNREADABLE.value] += 1
        else:
            chosen.append(item.key)
    sound = _sound(_replayed(_of(reader, chosen), plan.crew, Extent.ALL, progress), left_out)
    if not sound:
        raise ReplayError(
            f"corpus {name_of(reader.path)}: no record is `same` and right with the compiler "
            f"as it is: {reasons_of(left_out)}; see `replay run --verify all`"
        )
    source = _of(reader, sound)
    caught: list[Caught] = []
    for mutant in plan.mutants:
        caught.append(_judged(mutant, source, plan, progress))
        seen(caught[-1])
    return Calibrated(len(sound), dict(sorted(left_out.items())), tuple(caught))


def reasons_of(left_out: Mapping[str, int]) -> str:
    """Why records judge no mutant, and how many each: `3 code, 1 wrong`."""
    counts = [f"{count} {why}" for why, count in sorted(left_out.items())]
    return ", ".join(counts) or "none was chosen"


def _of(reader: Reader, keys: Sequence[str]) -> Source:
    return Source(reader, len(keys), tuple(keys))


def _sound(results: Sequence[Result], left_out: Counter[str]) -> tuple[str, ...]:
    """The records that can judge a mutant; `left_out` counts the others."""
    found: list[str] = []
    for result in results:
        why = _why_left_out(result)
        if why is None:
            found.append(result.key)
        else:
            left_out[why] += 1
    return tuple(found)


def _why_left_out(result: Result) -> str | None:
    """Why a record judges no mutant; None where a healthy compiler answers as before, and right."""
    if result.outcome is not Outcome.SAME:
        return str(result.outcome.value)
    if result.numerics in FAILED_RUNS:
        return str(result.numerics.value)
    return None


def _judged(mutant: Mutant, source: Source, plan: Plan, progress: Progress) -> Caught:
    with _compiler(mutant, plan.crew) as crew:
        begin_s = time.monotonic()
        results = _replayed(source, crew, Extent.CHANGED, progress)
        by = Counter({name: 0 for name, _ in ORACLES})
        by.update(name for result in results for name, sees in ORACLES if sees(result))
        caught = Caught(mutant, by, time.monotonic() - begin_s)
        if caught.is_killed or mutant.keeps_results or not plan.examples:
            return caught
        return _fuzzed(caught, crew, plan, progress)


@contextmanager
def _compiler(mutant: Mutant, crew: Crew) -> Iterator[Crew]:
    """Workers with a copy of the compiler that has the fault."""
    with scratch_directory("mutant") as directory:
        yield replace(crew, paths=(copy_compiler(directory, [mutant.patch]),))


def _replayed(source: Source, crew: Crew, verify: Extent, progress: Progress) -> tuple[Result, ...]:
    plan = ReplayPlan(crew, verify=verify)
    found = replay(source, plan, progress)
    if found.is_interrupted:
        raise KeyboardInterrupt
    return found.ordered()


def _fuzzed(caught: Caught, crew: Crew, plan: Plan, progress: Progress) -> Caught:
    """`caught` with what random kernels show, up to the first that shows something."""
    begin_s = time.monotonic()
    how = FuzzPlan(plan.seed, None, plan.examples, plan.backends, stops_at_first=True)
    with Lab(replace(crew, imports=IMPORTS)) as lab:
        tally = run_campaign(how, lab, progress)
    return replace(
        caught,
        fuzzed=tally.examples,
        signature=next(iter(tally.finds), None),
        fuzz_s=time.monotonic() - begin_s,
    )
