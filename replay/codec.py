"""The one place where the vocabularies of compiler and corpus meet: our compiler as a subject."""

import re
from collections.abc import Mapping
from dataclasses import fields
from hashlib import sha256

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
from compiler.backends import Argument, Program, Role
from compiler.ir import Node, Op, Size, parse_node, print_node
from compiler.kernel import OPTS, Opt, Positional
from corpus import Scalar
from replay.artefact import Artefact
from replay.subject import Detail, RefusedError, Where

KIND = "kernel-replay"
DIGEST_LENGTH = 16

# What each option was when it first existed. A record names only the options that differ from this,
# so that a new option or default leaves the keys of old records alone. Lines are only ever added.
FIRST_DEFAULTS: Mapping[str, Scalar] = {
    "math.transcendental": "portable",
    "math.fma": True,
    "schedule.heuristics": "default",
    "schedule.max_nodes": 20000,
    "schedule.matvec": True,
    "schedule.matvec_block": 4,
    "schedule.matvec_threads": 8,
    "schedule.matvec_rows": 4,
    "schedule.group_outputs": 2048,
    "schedule.upcast_outputs": 1024,
    "schedule.locals": True,
    "schedule.group_items": 128,
    "schedule.tile_columns": 32,
    "schedule.tile_rows": 14,
    "schedule.tile_registers": 28,
    "schedule.vector_lanes": 16,
    "schedule.threaded": 16,
    "schedule.max_unrolled": 64,
    "name": None,
}

_KINDS = {
    Role.OUTPUT: corpus.ArgumentKind.OUT,
    Role.INPUT: corpus.ArgumentKind.IN,
    Role.INOUT: corpus.ArgumentKind.INOUT,
    Role.VARIABLE: corpus.ArgumentKind.VAR,
}
_OP = re.compile(r"^%\d+ = ([A-Z][A-Z0-9]*) ", re.MULTILINE)
_OPTS = {opt.op: opt for opt in OPTS}


# --- from the compiler to the corpus ---


def started_record(event: CompileStarted) -> corpus.KernelRecord:
    """The question of a compile that has begun."""
    target = event.target
    capabilities = target.capabilities
    return corpus.KernelRecord(
        kind=KIND,
        ast=print_node(event.ast),
        target=corpus.Target(
            target.backend,
            target.profile,
            {
                field.name: _scalar(getattr(capabilities, field.name))
                for field in fields(capabilities)
            },
        ),
        options=encode_options(event.options),
        requested=None if event.opts is None else encode_opts(event.opts),
        status=corpus.Status.STARTED,
    )


def finished_fields(event: CompileFinished | CompileFailed) -> dict[str, object]:
    """The fields of a record that its compile's end adds to those of its start."""
    if isinstance(event, CompileFailed):
        return {"status": corpus.Status.FAILED, "error": event.error}
    compiled = event.compiled
    artefact = artefact_of(compiled, Detail.STAGES)
    return {
        "status": corpus.Status.FINISHED,
        "applied": artefact.applied,
        "name": artefact.name,
        "source": artefact.source,
        "stages": artefact.stages,
        "launch": artefact.launch,
        "arguments": artefact.arguments,
        "estimates": artefact.estimates,
        "rewrites": artefact.rewrites,
    }


def artefact_of(compiled: Compiled, detail: Detail) -> Artefact:
    """A compile's result in the corpus's words."""
    program = compiled.program
    texts: tuple[tuple[str, str], ...] = ()
    if detail is Detail.STAGES:
        texts = tuple((stage.name, print_node(stage.node)) for stage in compiled.stages)
    return Artefact(
        name=program.name,
        source=program.source,
        applied=encode_opts(compiled.applied),
        launch=_encode_launch(program),
        arguments=tuple(_encode_argument(argument) for argument in program.arguments),
        estimates=corpus.Estimates(program.estimates.flops, program.estimates.bytes),
        stages=tuple((name, digest(text)) for name, text in texts),
        texts=texts,
        rewrites=compiled.rewrites,
    )


def encode_options(options: CompileOptions) -> dict[str, Scalar]:
    """The options that differ from what they were when they first existed."""
    return {
        name: value
        for name, value in flatten(options).items()
        if name not in FIRST_DEFAULTS or value != FIRST_DEFAULTS[name]
    }


def encode_opts(opts: tuple[Opt, ...]) -> tuple[corpus.Opt, ...]:
    """Opts by name and named fields."""
    return tuple(_encode_opt(opt) for opt in opts)


def digest(text: str) -> str:
    """The digest of a stage's text."""
    return sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


def _encode_opt(opt: Opt) -> corpus.Opt:
    values = {field.name: getattr(opt, field.name) for field in fields(opt)}  # type: ignore[arg-type]  # every opt is a dataclass
    name = values.pop("op") if isinstance(opt, Positional) else opt.op  # type: ignore[attr-defined]  # class attribute
    return corpus.Opt(name, {key: value for key, value in values.items() if value is not None})


def _encode_launch(program: Program) -> corpus.Launch:
    launch = program.launch
    return corpus.Launch(
        tuple(_encode_size(size) for size in launch.global_size),
        tuple(_encode_size(size) for size in launch.local_size),
    )


def _encode_argument(argument: Argument) -> corpus.Argument:
    return corpus.Argument(
        argument.name, argument.dtype.name, _encode_size(argument.size), _KINDS[argument.role]
    )


def _encode_size(size: Size) -> corpus.Size:
    return print_node(size) if isinstance(size, Node) else size


def _scalar(value: object) -> Scalar:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return ",".join(str(item) for item in value) if isinstance(value, tuple) else str(value)


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
    known = flatten(CompileOptions())
    first = {name: value for name, value in FIRST_DEFAULTS.items() if name in known}
    try:
        return unflatten({**first, **record.options})
    except OptionError as error:
        raise RefusedError(Where.NAMING, str(error)) from None


def decode_opts(opts: tuple[corpus.Opt, ...]) -> tuple[Opt, ...]:
    """Opts of this compiler from names and fields."""
    return tuple(_decode_opt(opt) for opt in opts)


def _decode_opt(opt: corpus.Opt) -> Opt:
    kind = _OPTS.get(opt.name)
    if kind is None:
        known = " ".join(_OPTS)
        raise RefusedError(Where.NAMING, f"opt {opt.name!r} is unknown: use one of {known}")
    axis, amount = opt.fields.get("axis"), opt.fields.get("amount")
    is_positional = isinstance(axis, int) and set(opt.fields) <= {"axis", "amount"}
    if is_positional and isinstance(axis, int) and (amount is None or isinstance(amount, int)):
        return Positional(opt.name, axis, amount)
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
        decoded = None if opts is None else decode_opts(opts)
        try:
            compiled = compile_kernel(ast, target, options, decoded)
        except IllegalOptError as error:
            raise RefusedError(Where.COMPILING, f"opts refused: {error}") from None
        except CompilerError as error:
            raise RefusedError(Where.COMPILING, str(error)) from None
        return artefact_of(compiled, detail)


SUBJECT = KernelReplay()
