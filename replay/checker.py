"""Runs our compiler's kernels against its reference, in a worker."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import corpus
from compiler import Compiled, CompilerError, DeviceError, Target, compile_kernel
from compiler.backends import Device, Launch, Program, open_device
from compiler.ir import Size, parse_node
from replay.artefact import Artefact
from replay.codec import decode_ast, decode_options, decode_opts_for, decode_target
from replay.metrics import compare_code
from replay.outcome import Numerics
from replay.severity import elements_of, share_of_bound
from replay.subject import Checked, RefusedError, Where
from replay.verify import verify


class KernelChecker:
    """Compiles a record's question and judges every element that the kernel writes."""

    def check(
        self,
        record: corpus.KernelRecord,
        opts: tuple[corpus.Opt, ...] | None,
        old: Artefact | None,
    ) -> Checked:
        """Compile under `opts`, run beside `old` if given, and judge both by the reference."""
        ast, target = decode_ast(record), decode_target(record)
        decoded = decode_opts_for(record, opts)
        try:
            device = open_device(target.backend)
        except DeviceError as error:
            return Checked(numerics=Numerics.SKIPPED, reason=str(error))
        why = _why_unlike(device, target)
        if why is not None:
            return Checked(numerics=Numerics.SKIPPED, reason=f"{why}, the kernel is only compiled")
        try:
            new = compile_kernel(ast, target, decode_options(record), decoded)
            before = None if old is None else _as_it_was(new, old)
            seed = sha256(record.ast.encode()).hexdigest()  # the same numbers on every backend
            verdict = verify(new, device, seed, old=before)
        except CompilerError as error:
            raise RefusedError(Where.COMPILING, str(error)) from None
        code = None if before is None else _machine_code(device, new, before)
        return Checked(
            numerics=verdict.numerics,
            reason=verdict.reason,
            weak=verdict.weak,
            digest=verdict.digest,
            machine_code=None if code is None else "equal" if code[0] == code[1] else "differs",
            elements=elements_of(verdict.runs),
            of_bound=share_of_bound(verdict.runs),
            metrics={} if code is None else compare_code(*code),
        )


def _why_unlike(device: Device, target: Target) -> str | None:
    """Why the device is not the one that `target` describes; older compilers know one profile."""
    judge: Callable[[Target], str | None] | None = getattr(device, "why_unlike", None)
    return None if judge is None else judge(target)


def _machine_code(device: Device, new: Compiled, old: Compiled) -> tuple[str, str] | None:
    """The instructions of the old program and of the new, on a device that can show them."""
    assembly: Callable[[Program], str] | None = getattr(device, "assembly", None)
    if assembly is None:
        return None
    before, after = [
        assembly(each.program).replace(each.program.name, "kernel") for each in (old, new)
    ]
    return before, after


def open_ahead(payload: bytes) -> bytes:
    """Open the device of the backend that `payload` names, which may take seconds."""
    open_device(payload.decode())
    return b""


def _as_it_was(new: Compiled, old: Artefact) -> Compiled:
    """The old kernel as a program of its own: the recorded source with the recorded launch."""
    launch = new.program.launch
    if old.launch is not None:
        launch = Launch(
            tuple(_decode_size(size) for size in old.launch.global_size),
            tuple(size for size in old.launch.local_size if isinstance(size, int)),
        )
    program: Program = replace(new.program, name=old.name, source=old.source, launch=launch)
    return replace(new, program=program)


def _decode_size(size: corpus.Size) -> Size:
    return parse_node(size) if isinstance(size, str) else size


CHECKER = KernelChecker()
