"""One fuzzing run: Hypothesis draws and shrinks kernels and opts, a worker examines them."""

import io
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field

import msgspec
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from compiler import Target, find_target
from compiler.ir import Node, print_node
from compiler.kernel import Opt, format_opts, from_ast, why_partial
from replay.fuzz.asts import asts
from replay.fuzz.examine import Examined, Failure, Question
from replay.fuzz.schedules import count_opts, schedules
from replay.isolation.lab import Lab
from replay.isolation.wire import Call, Done, OutOfMemory, Raised
from replay.isolation.workers import Died, Reply, TimedOut

_PHASES = (Phase.generate, Phase.shrink)
_ROUND = 200  # examples that Hypothesis draws with one seed
_SHRINK_S = 90.0  # for all failures of a round together
_EXAMINE = "replay.fuzz.examine:examine"
IMPORTS = ("compiler.compile", "replay.fuzz.examine")  # by the workers of a lab, once
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to draw, and when to stop: after so many seconds or examples, whichever comes first."""

    seed: int
    seconds: float | None
    examples: int | None
    backends: tuple[str, ...]  # or targets, as opencl/pocl
    stops_at_first: bool = False  # whether one failure is enough; it is not made smaller


@dataclass(frozen=True, slots=True)
class Example:
    """A kernel of a strategy, opts (None: the compiler's choice) and the backends that run it."""

    strategy: str
    ast: Node
    opts: tuple[Opt, ...] | None
    backends: tuple[str, ...]

    @property
    def question(self) -> Question:
        opts = None if self.opts is None else format_opts(self.opts)
        return Question(print_node(self.ast), opts, self.backends)

    @property
    def size(self) -> tuple[int, int]:
        """What shrinking makes smaller: the text of the kernel, then the number of opts."""
        return len(print_node(self.ast)), len(self.opts or ())


@dataclass(frozen=True, slots=True)
class Find:
    """The smallest example seen of one failure; `after` examples it was seen first."""

    failure: Failure
    example: Example
    after: int


@dataclass(slots=True)
class Tally:
    """What a campaign has done so far; changed by its one thread only."""

    examples: int = 0
    shrinking: int = 0  # examples examined only to make a failure smaller
    runs: Counter[str] = field(default_factory=Counter)  # by backend
    strategies: Counter[str] = field(default_factory=Counter)
    opts: Counter[str] = field(default_factory=Counter)
    scheduled: int = 0  # examples with opts of their own
    verdicts: Counter[str] = field(default_factory=Counter)  # weak, undecided
    finds: dict[str, Find] = field(default_factory=dict)  # by signature

    @property
    def mean_opts(self) -> float:
        """The mean length of the drawn sequences of opts."""
        return sum(self.opts.values()) / self.scheduled if self.scheduled else 0.0


class FailureFoundError(AssertionError):
    """Tells Hypothesis of a failure; a subclass per signature, so that each is shrunk alone."""


class _TimeIsUp(BaseException):
    """Ends a round, its shrinking too; no Exception, as Hypothesis would take it for a failure."""


def run_campaign(plan: Plan, lab: Lab, progress: Progress) -> Tally:
    """Examine kernels until the plan's end; failures are in the tally, as small as time allowed."""
    campaign = _Campaign(plan, lab, progress)
    number = 0
    while not campaign.is_over:
        campaign.run_round(number)
        number += 1
    return campaign.tally


class _Campaign:
    """The rounds of one run; owns its tally and its clock."""

    def __init__(self, plan: Plan, lab: Lab, progress: Progress) -> None:
        self.tally = Tally()
        self._plan = plan
        self._lab = lab
        self._progress = progress
        self._end_s = None if plan.seconds is None else time.monotonic() + plan.seconds
        self._found_s: float | None = None  # when this round's first failure was seen
        self._examples = _examples({name: find_target(name) for name in plan.backends})

    @property
    def is_over(self) -> bool:
        wanted = self._plan.examples
        has_enough = self._plan.stops_at_first and bool(self.tally.finds)
        return self._is_late or has_enough or self.tally.examples >= (wanted or math.inf)

    @property
    def _is_late(self) -> bool:
        return self._end_s is not None and time.monotonic() >= self._end_s

    def run_round(self, number: int) -> None:
        """Draw up to _ROUND examples, and shrink what fails."""
        self._found_s = None
        wanted = self._plan.examples
        left = _ROUND if wanted is None else min(_ROUND, wanted - self.tally.examples)
        configure = settings(
            max_examples=left,
            deadline=None,
            database=None,
            phases=(Phase.generate,) if self._plan.stops_at_first else _PHASES,
            suppress_health_check=list(HealthCheck),
        )
        test = seed(self._plan.seed * 1_000_003 + number)(
            configure(given(self._examples)(self._try))
        )
        # what Hypothesis prints and raises is about this file; the finds say it better
        with redirect_stdout(io.StringIO()), suppress(FailureFoundError, ExceptionGroup, _TimeIsUp):
            test()

    def _try(self, example: Example) -> None:
        self._watch_the_clock()
        reply = self._lab.ask(Call(_EXAMINE, msgspec.msgpack.encode(example.question)))
        examined = _examined(reply, example)
        if self._found_s is None:
            self._count(example, examined)
        else:
            self.tally.shrinking += 1
        if examined.failure is not None:
            self._remember(example, examined.failure)
            if self._plan.stops_at_first:
                raise _TimeIsUp
            raise _kind_of(examined.failure.signature)(examined.failure.reason)

    def _watch_the_clock(self) -> None:
        if self._found_s is None:
            if self._is_late:
                raise _TimeIsUp
        elif time.monotonic() - self._found_s > _SHRINK_S:
            raise _TimeIsUp

    def _count(self, example: Example, examined: Examined) -> None:
        tally = self.tally
        tally.examples += 1
        tally.strategies[example.strategy] += 1
        tally.runs.update(examined.ran)
        tally.verdicts.update(weak=examined.weak, undecided=examined.undecided)
        if example.opts is not None:
            tally.scheduled += 1
            tally.opts.update(count_opts(example.opts))
        self._progress("examples", tally.examples, self._plan.examples or tally.examples)

    def _remember(self, example: Example, failure: Failure) -> None:
        if self._found_s is None:
            self._found_s = time.monotonic()
        best = self.tally.finds.get(failure.signature)
        if best is None or example.size < best.example.size:
            after = self.tally.examples if best is None else best.after
            self.tally.finds[failure.signature] = Find(failure, example, after)


_kinds: dict[str, type[FailureFoundError]] = {}  # Hypothesis tells failures apart by their class


def _kind_of(signature: str) -> type[FailureFoundError]:
    if signature not in _kinds:
        _kinds[signature] = type(f"FailureFoundError: {signature}", (FailureFoundError,), {})
    return _kinds[signature]


@st.composite
def _examples(draw: st.DrawFn, targets: Mapping[str, Target]) -> Example:
    """A kernel with opts that are legal on one target, and the targets on which they are."""
    strategy, ast = draw(asts())
    if draw(st.integers(0, 4)) == 0:
        return Example(strategy, ast, None, tuple(targets))
    chosen = tuple(targets.values())[draw(st.integers(0, len(targets) - 1))]
    opts = draw(schedules(ast, chosen))
    able = tuple(name for name, target in targets.items() if _is_legal(ast, opts, target))
    return Example(strategy, ast, opts, able)


def _is_legal(ast: Node, opts: tuple[Opt, ...], target: Target) -> bool:
    kernel = from_ast(ast)
    for opt in opts:
        if opt.why_illegal(kernel, target) is not None:
            return False
        kernel = opt.apply(kernel)
    return why_partial(kernel, target) is None


def _examined(reply: Reply, example: Example) -> Examined:
    """The worker's answer; one that did not come is a failure of the kernel too."""
    where = " or ".join(example.backends)
    match reply:
        case Done(payload=payload):
            return msgspec.msgpack.decode(payload, type=Examined)
        case Raised(error=error):
            return Examined(Failure(f"raised {error.split(':')[0]}", where, error), ())
        case Died(reason=reason):
            return Examined(Failure(f"crash {reason}", where, f"the worker ended: {reason}"), ())
        case TimedOut(seconds=seconds):
            return Examined(Failure("timeout", where, f"no answer within {seconds:g} s"), ())
        case OutOfMemory(reason=reason):
            return Examined(Failure("memory", where, reason), ())
