"""The oracles, run in a worker: one question on every backend, against the reference and itself."""

from hashlib import sha256

import msgspec

from compiler import (
    Compiled,
    CompilerError,
    DeviceError,
    compile_kernel,
    find_target,
    open_device,
    parse_node,
    print_node,
)
from compiler.kernel import parse_opts
from replay.numerics.verify import verify
from replay.outcome import Numerics


class Question(msgspec.Struct, frozen=True):
    """An AST and opts, as text, and the backends or targets that shall answer."""

    ast: str
    opts: str | None  # None: the compiler's own choice
    backends: tuple[str, ...]


class Failure(msgspec.Struct, frozen=True):
    """What an oracle found. `signature` says when two failures are the same failure."""

    signature: str
    backend: str
    reason: str


class Examined(msgspec.Struct, frozen=True):
    """The first failure, if any, and which backends ran the kernel."""

    failure: Failure | None
    ran: tuple[str, ...]
    weak: int = 0
    undecided: int = 0


def examine(payload: bytes) -> bytes:
    """Answer one Question; a call of a worker."""
    question = msgspec.msgpack.decode(payload, type=Question)
    return msgspec.msgpack.encode(_examine(question))


def _examine(question: Question) -> Examined:
    seed = sha256(question.ast.encode()).hexdigest()
    digests: dict[str, str] = {}
    weak = undecided = 0
    for backend in question.backends:
        try:
            compiled = _compile(question, backend)
            again = _compile(question, backend)
            device = open_device(find_target(backend).backend)
            verdict = verify(compiled, device, seed)
        except DeviceError as error:
            return Examined(Failure("device", backend, str(error)), tuple(digests))
        except CompilerError as error:
            return Examined(_refusal(backend, error), tuple(digests))
        if again.program.source != compiled.program.source:
            reason = "compiled twice in one process, two sources"
            return Examined(Failure("nondeterministic", backend, reason), tuple(digests))
        if verdict.numerics is Numerics.WRONG:
            reason = verdict.reason or "wrong"
            return Examined(Failure("wrong", backend, reason), tuple(digests))
        weak += verdict.weak is not None
        undecided += verdict.numerics is Numerics.UNDECIDED
        digests[backend] = verdict.digest
    if question.opts is not None and len(set(digests.values())) > 1:
        names = " and ".join(digests)
        reason = f"{names} differ in bits under the same opts"
        return Examined(Failure("bits", names, reason), tuple(digests))
    return Examined(None, tuple(digests), weak, undecided)


def _compile(question: Question, backend: str) -> Compiled:
    opts = None if question.opts is None else parse_opts(question.opts)
    ast = parse_node(question.ast)
    if print_node(ast) != question.ast:
        raise CompilerError("text: printed and parsed again it is another text")
    return compile_kernel(ast, find_target(backend), opts=opts)


def _refusal(backend: str, error: CompilerError) -> Failure:
    """A valid kernel under legal opts may not be refused."""
    where = str(error).split(":", 1)[0]
    words = "".join(letter for letter in where if not letter.isdigit())
    return Failure(f"{type(error).__name__} {words[:40]}", backend, " ".join(str(error).split()))
