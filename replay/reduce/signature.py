"""In a worker, or in a script of its own: what is wrong with a question, in a few words.

Two failures are the same if kind, stage, site and bucket are: a reducer must not lose them.
"""

import re

import msgspec

from compiler import (
    Compiled,
    CompilerError,
    DeviceError,
    compile_kernel,
    find_target,
    open_device,
    parse_node,
    unflatten,
)
from compiler.kernel import parse_opts
from corpus import Scalar
from replay.numerics.stagewise import judged, judgement_of, runs_of, seed_of
from replay.numerics.verify import verify

RIGHT = "right"


class Question(msgspec.Struct, frozen=True):
    """A kernel as text, its target, the options that are not default, and its opts as text."""

    ast: str
    target: str
    options: dict[str, Scalar]
    opts: str | None


class Signature(msgspec.Struct, frozen=True):
    """`kind` is right, wrong, refused, raised, crash, timeout or memory."""

    kind: str
    stage: str = ""  # the first wrong stage, or `run` where the device alone is wrong
    site: str = ""  # the class of an error and where it was raised, or a signal
    bucket: str = ""  # how far off

    def __str__(self) -> str:
        return " ".join(filter(None, (self.kind, self.stage, self.site, self.bucket)))


def examine(payload: bytes) -> bytes:
    """The signature of an encoded question."""
    question = msgspec.msgpack.decode(payload, type=Question)
    return msgspec.msgpack.encode(signature_of(question))


def signature_of(question: Question) -> Signature:
    """Compile a question, run every stage by the reference and the kernel on its device."""
    try:
        compiled = compile_kernel(
            parse_node(question.ast),
            find_target(question.target),
            unflatten(question.options),
            None if question.opts is None else parse_opts(question.opts),
        )
    except CompilerError as error:
        return _refusal(error)
    return _wrong_stage(compiled) or _wrong_run(compiled) or Signature(RIGHT)


def _wrong_stage(compiled: Compiled) -> Signature | None:
    runs = runs_of(compiled)
    for stage in compiled.stages:
        found = judged(stage.node, runs)
        if found.is_wrong:
            return Signature("wrong", stage.name, bucket=found.bucket or "")
    return None


def _wrong_run(compiled: Compiled) -> Signature | None:
    """What the device makes of it, where there is one of that kind."""
    target = compiled.target
    try:
        device = open_device(target.backend)
        if device.why_unlike(target) is not None:
            return None
        found = judgement_of(verify(compiled, device, seed_of(compiled.ast)))
    except DeviceError as error:
        return Signature("refused", "run", _site(error))
    except CompilerError as error:
        return Signature("refused", "build", _site(error))
    return Signature("wrong", "run", bucket=found.bucket or "") if found.is_wrong else None


def _refusal(error: CompilerError) -> Signature:
    stage = re.match(r"pass (\w+)", str(error))
    return Signature("refused", stage[1] if stage else "", _site(error))


def _site(error: Exception) -> str:
    """The class of an error and its words, without names and numbers."""
    words = re.findall(r"[A-Za-z]{3,}", str(error).partition(",")[0])
    return " ".join([type(error).__name__, *words[-6:]])


def site_of_traceback(text: str) -> str:
    """The innermost function of a compiler in a traceback, and what was raised there."""
    frames = re.findall(r'File "[^"]*?(compiler/[^"]*)", line \d+, in (\w+)', text)
    last = text.strip().splitlines()[-1].partition(":")[0] if text.strip() else ""
    return " ".join([last, *(frames[-1] if frames else ())])
