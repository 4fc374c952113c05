"""Runs our compiler's kernels against its reference, in a worker."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256

import msgspec

import corpus
from compiler import (
    Compiled,
    CompilerError,
    DeviceError,
    Target,
    Transcendental,
    compile_kernel,
    find_target,
)
from compiler.backends import BACKENDS, Device, Launch, Program, open_device
from compiler.ir import Size, parse_node
from replay.artefact import Artefact
from replay.capture.plain import plain_opts
from replay.codec import decode_ast, decode_options, decode_opts_for, decode_target
from replay.compare.assemblies import packed
from replay.metrics import compare_code
from replay.numerics.severity import elements_of, share_of_bound
from replay.numerics.verify import Verdict, beside_of, verify
from replay.outcome import Beside, Numerics
from replay.subject import Checked, RefusedError, Where

_STRICT = 3  # promises of a device that it needs for the bits of every other, if it makes any


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
        why = why_unlike_device(device, target)
        if why is not None:
            return Checked(numerics=Numerics.SKIPPED, reason=f"{why}, the kernel is only compiled")
        try:
            new = compile_kernel(ast, target, decode_options(record), decoded)
            before = None if old is None else as_it_was(new, old)
            verdict, why_alone = _judged(record, device, new, before)
        except MemoryError:
            raise  # says nothing of the kernel
        except CompilerError as error:
            raise RefusedError(Where.COMPILING, str(error)) from None
        if why_alone is not None:
            before = None
        if verdict.beside is Beside.TEXT:
            before = new
        code = None if before is None else _machine_code(device, new, before)
        return Checked(
            numerics=verdict.numerics,
            reason="; ".join(filter(None, (verdict.reason, why_alone))) or None,
            weak=verdict.weak,
            digest=verdict.digest,
            bits=_owed(record, device, new),
            beside=verdict.beside,
            machine_code=None if code is None else "equal" if code[0] == code[1] else "differs",
            elements=elements_of(verdict.runs),
            of_bound=share_of_bound(verdict.runs),
            code=None if code is None else packed(*code),
            metrics={} if code is None else compare_code(*code),
        )

    def build_ahead(
        self,
        asked: Sequence[tuple[corpus.KernelRecord, tuple[corpus.Opt, ...] | None, Artefact | None]],
    ) -> None:
        """Build all new kernels of a backend at once, and all old ones that are not the same."""
        news: dict[str, list[Program]] = {}
        olds: dict[str, list[Program]] = {}
        for record, opts, old in asked:
            try:
                ast, target = decode_ast(record), decode_target(record)
                decoded = decode_opts_for(record, opts)
                new = compile_kernel(ast, target, decode_options(record), decoded)
            except (CompilerError, RefusedError):
                continue
            news.setdefault(target.backend, []).append(new.program)
            before = None if old is None else as_it_was(new, old).program
            if before is not None and beside_of(before, new.program) is Beside.RUN:
                olds.setdefault(target.backend, []).append(before)
        for backend in news:
            _build_ahead(backend, news[backend], olds.get(backend, ()))

    def elsewhere(
        self, record: corpus.KernelRecord, opts: tuple[corpus.Opt, ...] | None
    ) -> tuple[tuple[str, Checked], ...]:
        """Run the same question on the first profile of every other backend."""
        found: list[tuple[str, Checked]] = []
        for backend in BACKENDS:
            if backend.name == record.target.backend or backend.takes_ast:
                continue
            target = find_target(backend.name)
            asked = corpus.Target(backend=target.backend, profile=target.profile, capabilities={})
            try:
                checked = self.check(msgspec.structs.replace(record, target=asked), opts, None)
            except RefusedError as refusal:
                checked = Checked(numerics=Numerics.SKIPPED, reason=refusal.error)
            found.append((target.name, checked))
        return tuple(found)


def _judged(
    record: corpus.KernelRecord, device: Device, new: Compiled, old: Compiled | None
) -> tuple[Verdict, str | None]:
    """The verdict, and why it is one without the old kernel, where that cannot run here."""
    seed = sha256(record.ast.encode()).hexdigest()  # the same numbers on every backend
    if old is None:
        return verify(new, device, seed), None
    try:
        return verify(new, device, seed, old=old), None
    except CompilerError as error:
        verdict = verify(new, device, seed)  # if this raises as well, it is the new one's fault
        return verdict, f"the old kernel cannot run here: {error}"


def _build_ahead(backend: str, *sides: Sequence[Program]) -> None:
    """Have the backend's device build each side at once, if it can."""
    try:
        device = open_device(backend)
    except DeviceError:
        return
    build: Callable[[Sequence[Program]], None] | None = getattr(device, "build_ahead", None)
    if build is not None:
        for programs in sides:
            build(programs)


def _owed(record: corpus.KernelRecord, device: Device, compiled: Compiled) -> str | None:
    """Name what fixes every bit: the AST, the opts and portable math, on a device that keeps to
    IEEE 754."""
    kept = device.toolchain().get("float32")
    is_strict = kept is None or len(kept.split()) == _STRICT
    if not is_strict or compiled.options.math.transcendental is not Transcendental.PORTABLE:
        return None
    options = {name: record.options[name] for name in record.options if name != "name"}
    asked = (record.ast, options, plain_opts(compiled.applied))
    return sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()[:32]


def why_unlike_device(device: Device, target: Target) -> str | None:
    """Why the device is not the one that `target` describes; older compilers know one profile."""
    judge: Callable[[Target], str | None] | None = getattr(device, "why_unlike", None)
    return None if judge is None else judge(target)


def _machine_code(device: Device, new: Compiled, old: Compiled) -> tuple[str, str] | None:
    """The instructions of the old program and of the new, on a device that can show them."""
    assembly: Callable[[Program], str] | None = getattr(device, "assembly", None)
    if assembly is None:
        return None
    after = assembly(new.program).replace(new.program.name, "kernel")
    if old is new:
        return after, after
    return assembly(old.program).replace(old.program.name, "kernel"), after


def open_ahead(payload: bytes) -> bytes:
    """Open the device of the backend that `payload` names, which may take seconds."""
    open_device(payload.decode())
    return b""


def as_it_was(new: Compiled, old: Artefact) -> Compiled:
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
