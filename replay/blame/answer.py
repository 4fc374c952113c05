"""What a worker finds out about a kernel, in values that travel."""

from enum import Enum

import msgspec


class Verdict(Enum):
    """What the reference says of a stage."""

    RIGHT = "right"
    WRONG = "wrong"


class Step(msgspec.Struct, frozen=True):
    """A stage of the compile, run by the reference on inputs of the record."""

    name: str
    verdict: Verdict
    reason: str | None = None


class Applied(msgspec.Struct, frozen=True):
    """One application of a rule; `number` counts from 1, as --rewrite-limit does."""

    number: int
    rule: str
    before: str
    after: str


class Blamed(msgspec.Struct, frozen=True, kw_only=True, tag="blamed"):
    """What was found. Without a wrong stage the rest is empty.

    `rule`: the kernel is right before that application and wrong after it; None where it is wrong
    with no rule applied at all, and so by the pass itself. `opt`: the kernel is right under the
    opts before that one; None where it is wrong under no opts.
    """

    steps: tuple[Step, ...] = ()
    opts: str = ""
    applications: int = 0
    rule: Applied | None = None
    opt: str | None = None

    @property
    def stage(self) -> Step | None:
        """The first wrong stage."""
        return next((step for step in self.steps if step.verdict is Verdict.WRONG), None)


class Difference(msgspec.Struct, frozen=True):
    """Where two compilers part: the first stage, and the first application of a rule.

    `ours` and `theirs` are the applications of that number; None where there is none. Both are None
    where the same rules were applied: then a pass differs, and not what it was given by rules.
    """

    stage: str
    ours: Applied | None = None
    theirs: Applied | None = None
