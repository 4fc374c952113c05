"""A record without what its owner would not tell, compiled anew; run in a worker.

Kept is what makes the kernel: ops, dtypes, shapes, views, ranges of variables, options, opts. The
answer is not changed but made again: names and constants stand in a recorded source, and can be
guessed from the digests of stages. Of the provenance a number for the test and the count remain.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

import msgspec

from compiler import CompileOptions, CompilerError, CompileStarted
from compiler.ir import Spec, find_core, parse_node, verify
from corpus import KernelRecord, Opt, Provenance, Scalar, Status
from replay.baseline import answered
from replay.capture.records import KIND
from replay.codec import decode_ast, decode_options, decode_opts, decode_target, started_record
from replay.isolation.wire import Call
from replay.recompile import find_subject
from replay.share.ast import axis_names, without_names
from replay.share.names import Names
from replay.subject import Detail, RefusedError, Where

_CORE_OPTION, _ANY_CORE = "schedule.core", "any"
_PIECES = re.compile(r"(\.[oi])*")

Opts = tuple[Opt, ...] | None


class Request(msgspec.Struct, frozen=True):
    """What a worker is asked. Without `compiles` it only strips: the compile ended its process."""

    record: KernelRecord
    names: Names
    compiles: bool


class Stripped(msgspec.Struct, frozen=True, tag="stripped"):
    record: KernelRecord


class Withheld(msgspec.Struct, frozen=True, tag="withheld"):
    """Why a record cannot be shared."""

    reason: str


_encode = msgspec.msgpack.Encoder().encode
_decode_request = msgspec.msgpack.Decoder(Request).decode
_decode_answer = msgspec.msgpack.Decoder(Stripped | Withheld).decode


def call(record: KernelRecord, names: Names, *, compiles: bool = True) -> Call:
    """The job that strips a record, and compiles what is left."""
    return Call("replay.share.question:strip", _encode(Request(record, names, compiles)))


def read(payload: bytes) -> Stripped | Withheld:
    """What such a job answered."""
    return _decode_answer(payload)


def strip(payload: bytes) -> bytes:
    """Answer an encoded Request with an encoded Stripped or Withheld."""
    request = _decode_request(payload)
    try:
        question = _question(request.record, request.names)
        if not request.compiles:
            question = msgspec.structs.replace(question, applied=None)
            return _encode(Stripped(question))
        return _encode(_answered(question, request.record))
    except RefusedError as refusal:
        return _encode(Withheld(refusal.error))
    except CompilerError as error:
        return _encode(Withheld(str(error)))
    except OverflowError as error:
        return _encode(Withheld(f"its answer cannot be recorded: {error}"))


def _question(record: KernelRecord, names: Names) -> KernelRecord:
    """The record's question, in which every word is one of the compiler's own."""
    if record.kind != KIND:
        why = f"it is of kind {record.kind!r}, only {KIND!r} is known inside out"
        raise RefusedError(Where.NAMING, why)
    ast = decode_ast(record)
    verify(ast, Spec.KERNEL)
    axes = axis_names(ast)
    requested, applied = _opts(record.requested, axes), _opts(record.applied, axes)
    started = CompileStarted(
        parse_node(without_names(ast, names.variables)),
        decode_target(record),
        _options(record, names),
        None if requested is None else decode_opts(requested),
    )
    origin = record.provenance
    test = None if origin.test_id is None else names.tests[origin.test_id]
    return msgspec.structs.replace(
        started_record(started),
        applied=applied,
        provenance=Provenance(test_id=test, occurrences=origin.occurrences),
    )


def _answered(question: KernelRecord, record: KernelRecord) -> Stripped | Withheld:
    """What the compiler at hand answers, under the opts that the record had."""
    opts = question.requested if question.applied is None else question.applied
    try:
        artefact = find_subject(KIND).compile(question, opts, Detail.STAGES)
    except RefusedError as refusal:
        if record.status is Status.FINISHED:
            return Withheld(f"the compiler refuses it now: {refusal.error}")
        failed = msgspec.structs.replace(
            question, applied=None, status=Status.FAILED, error=refusal.error
        )
        return Stripped(failed)
    return Stripped(answered(question, artefact))


def _options(record: KernelRecord, names: Names) -> CompileOptions:
    options = decode_options(record)
    if options.schedule.core != _ANY_CORE and find_core(options.schedule.core) is None:
        why = f"option {_CORE_OPTION} is {options.schedule.core!r}, which names no core"
        raise RefusedError(Where.NAMING, why)
    return options if options.name is None else replace(options, name=names.kernels[options.name])


def _opts(opts: Opts, axes: Mapping[str, str]) -> Opts:
    if opts is None:
        return None
    decode_opts(opts)  # refuses names that no opt has
    return tuple(
        Opt(opt.name, {name: _word(name, value, axes) for name, value in opt.fields.items()})
        for opt in opts
    )


def _word(name: str, value: Scalar, axes: Mapping[str, str]) -> Scalar:
    """A field of an opt: a number, the name of a core, or an axis."""
    if isinstance(value, bool | int):
        return value
    if isinstance(value, str) and name == "core" and find_core(value) is not None:
        return value
    if isinstance(value, str) and (axis := _axis(value, axes)) is not None:
        return axis
    raise RefusedError(Where.NAMING, f"an opt's {name} is {value!r}, which its AST does not name")


def _axis(name: str, axes: Mapping[str, str]) -> str | None:
    """An axis of the AST, or a piece of one, by its new name."""
    for end in range(len(name), 0, -1):
        if name[:end] in axes and _PIECES.fullmatch(name[end:]):
            return axes[name[:end]] + name[end:]
    return None
