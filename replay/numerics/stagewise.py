"""Stages of a compile, run by the reference on the inputs of a record and judged like a kernel."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice

from compiler import Compiled, CompilerError, print_node
from compiler.backends.reference import evaluate
from compiler.ir import Node
from replay.numerics.allowance import allowance_of
from replay.numerics.verify import Case, Observation, Verdict, cases, judge, verdict_of
from replay.outcome import Numerics

_MOST_CASES = 6  # kinds of inputs times values of variables


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is said of a stage. `bucket` is how far off a wrong one is: a severity, or `refused`."""

    is_wrong: bool
    reason: str | None
    bucket: str | None = None


def runs_of(compiled: Compiled) -> tuple[Case, ...]:
    """The runs by which `replay verify` judges this kernel: the first few."""
    seed = seed_of(compiled.ast)
    allowance = allowance_of(compiled)
    runs = cases(compiled.ast, compiled.program.arguments, seed, allowance=allowance)
    return tuple(islice(runs, _MOST_CASES))


def seed_of(ast: Node) -> str:
    """What the inputs of a kernel depend on: the same numbers on every backend."""
    return sha256(print_node(ast).encode()).hexdigest()


def judged(node: Node, runs: Sequence[Case]) -> Judgement:
    """Whether a stage computes what its AST says. The reference may refuse to run it at all."""
    try:
        return judgement_of(verdict_of([judge(run, _observed(node, run)) for run in runs]))
    except CompilerError as error:  # out of bounds, or a race
        return Judgement(is_wrong=True, reason=" ".join(str(error).split()), bucket="refused")


def judgement_of(verdict: Verdict) -> Judgement:
    """The same of a kernel that ran."""
    if verdict.numerics is not Numerics.WRONG:
        return Judgement(is_wrong=False, reason=verdict.reason)
    wrong = [run.first for run in verdict.runs if run.numerics is Numerics.WRONG]
    bucket = wrong[0].severity.value if wrong[0] is not None else None
    return Judgement(is_wrong=True, reason=verdict.reason, bucket=bucket)


def _observed(node: Node, run: Case) -> Observation:
    contents = {
        slot: content for slot, content in enumerate(run.sample.contents) if content is not None
    }
    return Observation(evaluate(node, contents, dict(run.sample.variables)))
