"""The one place where the vocabularies of compiler and corpus meet: our compiler as a subject."""

import re
from dataclasses import fields, replace
from functools import lru_cache

import msgspec

import corpus
from compiler import (
    Compiled,
    CompileFailed,
    CompileFinished,
    CompileOptions,
    CompilerError,
    CompileStarted,
    DTypeError,
    IllegalOptError,
    OptionError,
    ParseError,
    Target,
    compile_kernel,
    find_target,
    flatten,
    unflatten,
)
from compiler.ir import Node, Op, parse_node, print_node
from compiler.kernel import OPTS, Opt, Positional
from replay.artefact import Artefact
from replay.capture.plain import plain_answer, plain_question, plain_stages
from replay.capture.records import FIRST_DEFAULTS, answer_of, answered, question_of
from replay.subject import Detail, RefusedError, Where

_OP = re.compile(r"^%\d+ = ([A-Z][A-Z0-9]*) ", re.MULTILINE)
_OPTS = {opt.op: opt for opt in OPTS}
_NAME = "name"  # the option that is the user's name for a kernel, and each one's own
_KNOWN = frozenset(flatten(CompileOptions()))


# --- from the compiler to the corpus ---


def started_record(event: CompileStarted) -> corpus.KernelRecord:
    """The question of a compile that has begun."""
    return question_of(plain_question(event.ast, event.target, event.options, event.opts))


def finished_fields(event: CompileFinished | CompileFailed) -> dict[str, object]:
    """The fields of a record that its compile's end adds to those of its start."""
    if isinstance(event, CompileFailed):
        return {"status": corpus.Status.FAILED, "error": event.error}
    compiled = event.compiled
    return answer_of({**plain_answer(compiled), "stages": plain_stages(compiled)})


def artefact_of(compiled: Compiled, detail: Detail) -> Artefact:
    """A compile's result in the corpus's words."""
    answer = answered(plain_answer(compiled))
    if detail is Detail.OUTPUT:
        return Artefact(**msgspec.structs.asdict(answer))
    answer = msgspec.structs.replace(answer, stages=plain_stages(compiled))
    texts = tuple((stage.name, print_node(stage.node)) for stage in compiled.stages)
    return Artefact(**msgspec.structs.asdict(answer), texts=texts)


# --- from the corpus to the compiler ---


def decode_ast(record: corpus.KernelRecord) -> Node:
    """The AST of a record. Refused as unreadable, or for an op or dtype that is unknown here."""
    try:
        return parse_node(record.ast)
    except (ParseError, DTypeError) as error:
        is_unknown = any(op not in Op.__members__ for op in _ops_in(record.ast))
        where = Where.NAMING if is_unknown or "dtype" in str(error) else Where.READING
        raise RefusedError(where, str(error)) from None


def decode_target(record: corpus.KernelRecord) -> Target:
    """The target of a record, as its profile is now."""
    try:
        return find_target(record.target.backend, record.target.profile)
    except OptionError as error:
        raise RefusedError(Where.NAMING, str(error)) from None


def decode_options(record: corpus.KernelRecord) -> CompileOptions:
    """The options of a record: the first defaults, and what it says itself."""
    given = record.options
    rest = {name: value for name, value in given.items() if name != _NAME or name not in _KNOWN}
    try:
        options = _decode_options(tuple((name, type(rest[name]), rest[name]) for name in rest))
        if len(rest) == len(given):
            return options
        return replace(options, name=given[_NAME])  # type: ignore[arg-type]  # it judges the type
    except OptionError as error:
        raise RefusedError(Where.NAMING, str(error)) from None


@lru_cache(maxsize=256)
def _decode_options(given: tuple[tuple[str, type, corpus.Scalar], ...]) -> CompileOptions:
    """The same for many records, which seldom differ but in the user's name; 1 is not True."""
    first = {name: value for name, value in FIRST_DEFAULTS.items() if name in _KNOWN}
    return unflatten({**first, **{name: value for name, _, value in given}})


def decode_opts(opts: tuple[corpus.Opt, ...]) -> tuple[Opt, ...]:
    """Opts of this compiler from names and fields."""
    return tuple(_decode_opt(opt) for opt in opts)


def decode_opts_for(
    record: corpus.KernelRecord, opts: tuple[corpus.Opt, ...] | None
) -> tuple[Opt, ...] | None:
    """The opts to compile a record with; None is the compiler's own choice.

    A choice by timings is no function of the code. To ask for it anew would compare machines, so
    it is taken from the record.
    """
    if opts is None and record.options.get("search.beam") and _is_timed(record):
        opts = record.applied
        if opts is None:
            why = "its opts were to be found by timings, and it holds none"
            raise RefusedError(Where.COMPILING, why)
    return None if opts is None else decode_opts(opts)


def _is_timed(record: corpus.KernelRecord) -> bool:
    return record.options.get("search.cost") == "time"


def _decode_opt(opt: corpus.Opt) -> Opt:
    kind = _OPTS.get(opt.name)
    if kind is None:
        known = " ".join(_OPTS)
        raise RefusedError(Where.NAMING, f"opt {opt.name!r} is unknown: use one of {known}")
    axis, amount = opt.fields.get("axis"), opt.fields.get("amount")
    is_positional = isinstance(axis, int) and set(opt.fields) <= {"axis", "amount"}
    if is_positional and isinstance(axis, int) and (amount is None or isinstance(amount, int)):
        return Positional(opt.name, axis, amount)
    if set(opt.fields) == {"axis", "amount", "matching", "use"}:
        return Positional(opt.name, **opt.fields)  # type: ignore[arg-type]  # why_illegal judges
    wanted = [field.name for field in fields(kind)]
    if sorted(wanted) != sorted(opt.fields):
        given = ", ".join(opt.fields) or "nothing"
        raise RefusedError(Where.NAMING, f"opt {opt.name} takes {', '.join(wanted)}, not {given}")
    decoded: Opt = kind(**opt.fields)  # type: ignore[arg-type]  # why_illegal judges the values
    return decoded


def _ops_in(text: str) -> list[str]:
    return _OP.findall(text)


class KernelReplay:
    """Our compiler as a subject: this checkout's, or whichever is first on the worker's path."""

    def check(self, record: corpus.KernelRecord) -> None:
        """Raise RefusedError if the record's question cannot be decoded."""
        decode_ast(record)
        decode_target(record)
        decode_options(record)
        decode_opts(record.requested or ())

    def compile(
        self, record: corpus.KernelRecord, opts: tuple[corpus.Opt, ...] | None, detail: Detail
    ) -> Artefact:
        """Compile the record's question under `opts`; where they are None, by free choice."""
        ast, target, options = decode_ast(record), decode_target(record), decode_options(record)
        decoded = decode_opts_for(record, opts)
        try:
            compiled = compile_kernel(ast, target, options, decoded)
        except IllegalOptError as error:
            raise RefusedError(Where.COMPILING, f"opts refused: {error}") from None
        except CompilerError as error:
            raise RefusedError(Where.COMPILING, str(error)) from None
        return artefact_of(compiled, detail)


SUBJECT = KernelReplay()
