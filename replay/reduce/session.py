"""From a key to a script: workers that may die, the loop, and a last run in a clean process."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from corpus import KernelRecord
from replay.capture.records import FIRST_DEFAULTS, KIND
from replay.codec import decode_ast, decode_opts
from replay.errors import ReplayError
from replay.isolation.lab import Lab
from replay.isolation.wire import Call, Done, OutOfMemory, Raised
from replay.isolation.workers import Crew, Died, Limits, Reply, TimedOut
from replay.phases.plan import Progress
from replay.recorded import read_record, replayed_opts
from replay.reduce.example import Example
from replay.reduce.script import script_of
from replay.reduce.shrink import Reduced, shrink
from replay.reduce.signature import RIGHT, Question, Signature, site_of_traceback
from replay.subject import RefusedError
from replay.tree import ROOT

_EXAMINE = "replay.reduce.signature:examine"
_PROCESS = ("raised", "crash", "timeout", "memory")  # what a script does instead of saying it


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """All that is asked for. `compiler` is another tree than this one's."""

    corpus: Path
    key: str
    compiler: Path | None
    most: int  # questions asked
    limits: Limits


@dataclass(frozen=True, slots=True)
class Answer:
    """The failure of the record `key`, the smallest question that fails alike, and its script.

    `is_reproduced`: the script failed in a clean process.
    """

    key: str
    signature: Signature
    before: Example
    reduced: Reduced
    script: str
    is_reproduced: bool


def reduce(request: Request, environ: Mapping[str, str], progress: Progress) -> Answer:
    """Make the record of a failure small. ReplayError where it does not fail at all."""
    key, record = _record(request)
    example = _example(key, record)
    crew = Crew(
        environ=environ,
        limits=request.limits,
        paths=() if request.compiler is None else (request.compiler,),
        imports=("compiler.compile", "replay.reduce.signature"),
    )
    with Lab(crew) as lab:
        ask = _asking(lab, request.most, progress)
        wanted = ask(example.question)
        if wanted.kind == RIGHT:
            raise ReplayError(f"record {key[:12]}: nothing is wrong with it here")
        reduced = shrink(example, wanted, ask, request.most)
    script = script_of(reduced.example.question, wanted, key)
    return Answer(key, wanted, example, reduced, script, _fails(script, request, environ, wanted))


def _record(request: Request) -> tuple[str, KernelRecord]:
    key, record = read_record(request.corpus, request.key)
    if record.kind != KIND:
        raise ReplayError(f"record {key}: kind {record.kind!r}: only {KIND!r} is reduced")
    return key, record


def _example(key: str, record: KernelRecord) -> Example:
    """The record's question under the opts it had."""
    opts = replayed_opts(record)
    target = f"{record.target.backend}/{record.target.profile}"
    options = {name: value for name, value in record.options.items() if name in FIRST_DEFAULTS}
    try:
        return Example(
            decode_ast(record), target, options, None if opts is None else decode_opts(opts)
        )
    except RefusedError as refusal:
        raise ReplayError(f"record {key[:12]}: {refusal.error}") from None


def _asking(lab: Lab, most: int, progress: Progress) -> Callable[[Question], Signature]:
    asked = 0

    def ask(question: Question) -> Signature:
        nonlocal asked
        asked += 1
        progress("questions", min(asked, most), most)
        return _signature(lab.ask(Call(_EXAMINE, msgspec.msgpack.encode(question))))

    return ask


def _signature(reply: Reply) -> Signature:
    """What a worker answered; one that did not is a failure of the kernel too."""
    match reply:
        case Done(payload=payload):
            return msgspec.msgpack.decode(payload, type=Signature)
        case Raised(traceback=text):
            return Signature("raised", site=site_of_traceback(text))
        case Died(reason=reason):
            return Signature("crash", site=reason)
        case TimedOut():
            return Signature("timeout")
        case OutOfMemory():
            return Signature("memory")


def _fails(script: str, request: Request, environ: Mapping[str, str], wanted: Signature) -> bool:
    """Whether the script fails as it should, in a process that knows nothing of this one."""
    paths = [str(path) for path in (request.compiler, ROOT) if path is not None]
    clean = {**environ, "PYTHONPATH": ":".join(paths)}
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", script],
            env=clean,
            capture_output=True,
            text=True,
            check=False,
            timeout=request.limits.time_s + 60,
        )
    except subprocess.TimeoutExpired:
        return wanted.kind == "timeout"
    if wanted.kind in _PROCESS:
        return done.returncode not in (0, 2)
    return done.returncode == 1 and done.stdout.strip() == str(wanted)
