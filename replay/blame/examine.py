"""In a worker: every stage of a kernel run by the reference, then bisection by rules and opts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

import corpus
from compiler import Compiled, CompilerError, compile_kernel
from compiler.ir import Node
from compiler.kernel import Opt, format_opt, format_opts
from compiler.rules import Application
from replay.blame.answer import Applied, Blamed, Step, Verdict
from replay.blame.tracing import applied_of, compile_traced
from replay.isolation.wire import Call
from replay.numerics.stagewise import judged, runs_of
from replay.numerics.verify import Case
from replay.subject import Refused, RefusedError, Where

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(corpus.KernelRecord).decode
_decode_answer = msgspec.msgpack.Decoder(Blamed | Refused).decode


def call(record: corpus.KernelRecord) -> Call:
    """The job that finds out what is wrong with the kernel of `record`."""
    return Call("replay.blame.examine:examine", _encode(record))


def read(payload: bytes) -> Blamed | Refused:
    """What such a job answered."""
    return _decode_answer(payload)


def examine(payload: bytes) -> bytes:
    """Answer for an encoded record."""
    try:
        return _encode(_Examination.of(_decode(payload)).blame())
    except RefusedError as refusal:
        return _encode(Refused(refusal.where, refusal.error))
    except CompilerError as error:
        return _encode(Refused(Where.COMPILING, str(error)))


def first_bad(is_bad: Callable[[int], bool], last: int) -> int:
    """The first bad of 1..last, where 0 is good and `last` is bad and badness stays.

    Where it does not stay, some number that is bad and whose predecessor is good.
    """
    good, bad = 0, last
    while bad - good > 1:
        middle = (good + bad) // 2
        if is_bad(middle):
            bad = middle
        else:
            good = middle
    return bad


@dataclass(frozen=True, slots=True)
class _Examination:
    """A question, the opts it is asked under, and the runs that judge its stages."""

    compiled: Compiled
    trace: list[Application]
    runs: tuple[Case, ...]

    @classmethod
    def of(cls, record: corpus.KernelRecord) -> "_Examination":
        compiled, trace = compile_traced(record)
        return cls(compiled, trace, runs_of(compiled))

    def blame(self) -> Blamed:
        """The first wrong stage, and the first rule and opt with which it is."""
        stages = self.compiled.stages
        steps = tuple([self._judged(stage.name, stage.node) for stage in stages])
        answer = Blamed(
            steps=steps, opts=format_opts(self.compiled.applied), applications=len(self.trace)
        )
        if answer.stage is None:
            return answer
        place = [step.verdict for step in steps].index(Verdict.WRONG)
        return msgspec.structs.replace(answer, rule=self._rule(place), opt=self._opt(place))

    def _judged(self, name: str, node: Node) -> Step:
        found = judged(node, self.runs)
        return Step(name, Verdict.WRONG if found.is_wrong else Verdict.RIGHT, found.reason)

    def _is_wrong(self, place: int, opts: Sequence[Opt], limit: int | None) -> bool:
        """Whether the stage at `place` is, under other circumstances. A refusal is not wrong."""
        question = self.compiled
        try:
            other = compile_kernel(
                question.ast, question.target, question.options, tuple(opts), rewrite_limit=limit
            )
        except CompilerError:
            return False
        stage = other.stages[place]
        return self._judged(stage.name, stage.node).verdict is Verdict.WRONG

    def _rule(self, place: int) -> Applied | None:
        opts = self.compiled.applied
        if not self.trace or self._is_wrong(place, opts, 0):
            return None
        number = first_bad(lambda limit: self._is_wrong(place, opts, limit), len(self.trace))
        return applied_of(self.trace, number)

    def _opt(self, place: int) -> str | None:
        opts = self.compiled.applied
        for length in range(len(opts) + 1):
            if self._is_wrong(place, opts[:length], None):
                return format_opt(opts[length - 1]) if length else None
        return None
