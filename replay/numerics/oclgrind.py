"""One OpenCL kernel run inside Oclgrind, in a worker: what it does to memory that it may not do.

Buffers are exact, without the guard zones of `verify`: the simulator knows where each ends, and
which of its bytes nobody has written.
"""

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from compiler import Compiled, CompilerError, compile_kernel
from compiler.backends import Device, open_device
from replay.codec import decode_ast, decode_options, decode_opts_for, decode_target
from replay.numerics.inputs import Kind, Sample
from replay.numerics.simulating import LOG, Found, Request, decode_request, encode
from replay.numerics.verify import cases
from replay.subject import RefusedError

_PLACE = re.compile(r"At line \d+ \(column \d+\) of [^\n]*\n\s*([^\n]*)")
_ITEM = re.compile(r"Global(\([\d,]+\))")
_ADDRESS = re.compile(r" at (\w+) memory address 0x[0-9a-f]+| address 0x[0-9a-f]+")


def check(payload: bytes) -> bytes:
    """Run the kernel of an encoded Request; give an encoded Found."""
    request = decode_request(payload)
    try:
        return encode(_found(request))
    except (RefusedError, CompilerError) as error:
        return encode(Found(why_not=str(error)))


def _found(request: Request) -> Found:
    record = request.record
    ast, target = decode_ast(record), decode_target(record)
    device = open_device(target.backend)
    platform = device.toolchain().get("platform", "")
    if "oclgrind" not in platform.lower():
        return Found(why_not=f"the device is one of {platform or target.backend}, not Oclgrind")
    if (why := device.why_unlike(target)) is not None:
        return Found(why_not=why)
    opts = decode_opts_for(record, request.opts)
    compiled = compile_kernel(ast, target, decode_options(record), opts)
    log = Path(LOG)
    start = log.stat().st_size if log.exists() else 0
    seed = sha256(record.ast.encode()).hexdigest()
    for case in cases(ast, compiled.program.arguments, seed, (Kind.GRID,)):
        _run(device, compiled, case.sample)
    said = log.read_bytes()[start:] if log.exists() else b""
    return Found(tuple(dict.fromkeys(findings(said.decode(errors="replace")))))


def _run(device: Device, compiled: Compiled, sample: Sample) -> None:
    """Run a kernel once. What it only writes is left as it is made, which is uninitialised."""
    arguments = [argument for argument in compiled.program.arguments if argument.is_buffer]
    buffers = []
    for argument, slot, content in zip(arguments, sample.slots, sample.contents, strict=True):
        buffer = device.allocate(argument.dtype, slot.size)
        if argument.role.value != "output" and content is not None:
            device.upload(buffer, content)
        buffers.append(buffer)
    device.build(compiled.program)(buffers, dict(sample.variables))
    device.synchronize()


def findings(log: str) -> Iterator[str]:
    """Each thing that a log of Oclgrind complains of, on one line: what, who, and where."""
    for block in log.split("\n\n"):
        what, _, rest = block.strip().partition("\n")
        item, where = _ITEM.search(rest), _PLACE.search(rest)
        if item is None:
            continue
        place = f": {' '.join(where[1].split())}" if where else ""
        yield f"{_ADDRESS.sub(_region, what)} by work item {item[1]}{place}"


def _region(match: re.Match[str]) -> str:
    return f" in {match[1]} memory" if match[1] else ""
