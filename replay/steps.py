"""What every step of the compiler makes of a record's question, here and now."""

from dataclasses import dataclass

from compiler import CompilerError
from compiler.explain import Explained, Question, explain
from compiler.kernel import Opt, parse_opts
from corpus import KernelRecord
from replay.capture.records import KIND
from replay.codec import decode_ast, decode_options, decode_opts, decode_target
from replay.errors import ReplayError, UsageError
from replay.recorded import replayed_opts
from replay.subject import RefusedError


@dataclass(frozen=True, slots=True)
class How:
    """Under which opts, as text, and how much to show; without opts, under those it had."""

    opts: str | None
    rewrite_limit: int | None
    traces: bool = False


def explain_record(record: KernelRecord, how: How) -> Explained:
    """Compile a record's question in this process, and describe every step."""
    if record.kind != KIND:
        raise ReplayError(f"--stages: the record is of kind {record.kind!r}, only {KIND!r} has any")
    try:
        ast, target, options = decode_ast(record), decode_target(record), decode_options(record)
        opts = _opts(record, how)
    except RefusedError as refusal:
        raise ReplayError(f"--stages: {refusal.error}") from None
    return explain(Question(ast, target, options, opts, how.rewrite_limit, traces=how.traces))


def _opts(record: KernelRecord, how: How) -> tuple[Opt, ...] | None:
    if how.opts is None:
        recorded = replayed_opts(record)
        return None if recorded is None else decode_opts(recorded)
    try:
        return parse_opts(how.opts)
    except CompilerError as error:
        raise UsageError(f"--opts: {error}") from None
