"""In a worker: what a compiler made of a kernel step by step, to be compared with another's."""

from collections.abc import Sequence
from hashlib import sha256

import msgspec

import corpus
from compiler import Compiled, CompilerError, compile_kernel
from compiler.ir import print_node
from compiler.rules import Application
from replay.blame.answer import Applied
from replay.codec import decode_ast, decode_options, decode_opts_for, decode_target
from replay.isolation.wire import Call
from replay.recorded import replayed_opts
from replay.subject import Refused, RefusedError, Where


class Question(msgspec.Struct, frozen=True):
    """A record, and the number of the application that shall be shown, if any."""

    record: corpus.KernelRecord
    shown: int | None = None


class Traced(msgspec.Struct, frozen=True, tag="traced"):
    """A digest of each stage, and of each application of a rule, in order."""

    stages: tuple[tuple[str, str], ...]
    applications: tuple[str, ...]
    shown: Applied | None = None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Question).decode
_decode_answer = msgspec.msgpack.Decoder(Traced | Refused).decode


def call(record: corpus.KernelRecord, shown: int | None = None) -> Call:
    """The job that traces the compile of a record."""
    return Call("replay.blame.tracing:trace", _encode(Question(record, shown)))


def read(payload: bytes) -> Traced | Refused:
    """What such a job answered."""
    return _decode_answer(payload)


def trace(payload: bytes) -> bytes:
    """Answer for an encoded question."""
    question = _decode(payload)
    try:
        compiled, found = compile_traced(question.record)
    except RefusedError as refusal:
        return _encode(Refused(refusal.where, refusal.error))
    except CompilerError as error:
        return _encode(Refused(Where.COMPILING, str(error)))
    return _encode(_traced(compiled, found, question.shown))


def compile_traced(record: corpus.KernelRecord) -> tuple[Compiled, list[Application]]:
    """A record compiled under the opts it had, and each application of an optional rule."""
    found: list[Application] = []
    compiled = compile_kernel(
        decode_ast(record),
        decode_target(record),
        decode_options(record),
        decode_opts_for(record, replayed_opts(record)),
        trace=found,
    )
    return compiled, found


def _traced(compiled: Compiled, found: Sequence[Application], shown: int | None) -> Traced:
    texts = [
        "\n".join([each.rule, print_node(each.before), print_node(each.after)]) for each in found
    ]
    is_there = shown is not None and shown <= len(found)
    return Traced(
        tuple([(stage.name, _digest(stage.text())) for stage in compiled.stages]),
        tuple([_digest(text) for text in texts]),
        applied_of(found, shown) if shown is not None and is_there else None,
    )


def applied_of(trace: Sequence[Application], number: int) -> Applied:
    """An application as text; `number` counts from 1."""
    found = trace[number - 1]
    return Applied(number, found.rule, print_node(found.before), print_node(found.after))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]
