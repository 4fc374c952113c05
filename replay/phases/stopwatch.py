"""Old and new kernel timed in turns, in a worker that nothing runs beside. Bytes in, bytes out."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from compiler import Compiled, CompilerError, compile_kernel
from compiler.backends import Buffer, Device, Executable, open_device
from replay.codec import decode_ast, decode_options, decode_opts_for, decode_target
from replay.interval import timing_of
from replay.numerics.checker import as_it_was, why_unlike_device
from replay.numerics.inputs import Kind, Sample
from replay.numerics.verify import cases
from replay.phases import timing

ROUNDS = 15
LEAST_S = 0.002  # of one turn of one kernel
_MOST_CALLS = 10_000


def measure(payload: bytes) -> bytes:
    """Time the kernels of an encoded Request; give an encoded Found."""
    request = timing.decode_request(payload)
    record = request.record
    try:
        target = decode_target(record)
        device = open_device(target.backend)
        if (why := why_unlike_device(device, target)) is not None:
            return timing.encode(timing.Found(why_not=why))
        opts = decode_opts_for(record, request.opts)
        new = compile_kernel(decode_ast(record), target, decode_options(record), opts)
        seed = sha256(record.ast.encode()).hexdigest()  # as the numbers were checked
        kind = next(iter(Kind))
        samples = [each.sample for each in cases(new.ast, new.program.arguments, seed, (kind,))]
        largest = max(samples, key=lambda sample: sum(slot.size for slot in sample.slots))
        old, after = [_bound(device, x, largest) for x in (as_it_was(new, request.old), new)]
    except CompilerError as error:
        return timing.encode(timing.Found(why_not=str(error)))
    return timing.encode(timing.Found(timing_of(_ratios(old.seconds, after.seconds))))


@dataclass(frozen=True, slots=True)
class _Bound:
    """A kernel with its buffers. A bound call knows only addresses: this keeps what is there."""

    device: Device
    executable: Executable
    buffers: Sequence[Buffer]
    once: Callable[[], None]

    def seconds(self, count: int) -> float:
        """Of so many runs. A kernel that reads what it writes goes on from there."""
        started = time.perf_counter()
        for _ in range(count):
            self.once()
        self.device.synchronize()
        return time.perf_counter() - started


def _bound(device: Device, compiled: Compiled, sample: Sample) -> _Bound:
    arguments = [argument for argument in compiled.program.arguments if argument.is_buffer]
    buffers = []
    for argument, content in zip(arguments, sample.contents, strict=True):
        assert content is not None
        buffers.append(device.allocate(argument.dtype, content.size))
        device.upload(buffers[-1], content)
    executable = device.build(compiled.program)
    once = executable.bind(buffers, dict(sample.variables))
    return _Bound(device, executable, buffers, once)


def _ratios(old: Callable[[int], float], new: Callable[[int], float]) -> list[float]:
    """New over old in each round; every other round begins with the new one."""
    counts = _calls_to_fill(old), _calls_to_fill(new)
    ratios: list[float] = []
    for number in range(ROUNDS):
        if number % 2:
            after, before = new(counts[1]), old(counts[0])
        else:
            before, after = old(counts[0]), new(counts[1])
        ratios.append((after / counts[1]) / max(before / counts[0], 1e-12))
    return ratios


def _calls_to_fill(run: Callable[[int], float]) -> int:
    """By the second run: the first is for caches and page tables."""
    run(1)
    return max(1, min(_MOST_CALLS, round(LEAST_S / max(run(1), 1e-9))))
