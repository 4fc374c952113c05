"""Cycles by llvm-mca's model of one CPU, the same on every machine, where the tool is installed.

What is modelled is one iteration of each innermost loop, or the whole function where it has none:
dependences between iterations and the ports of the CPU, but no caches and no wrong guesses.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from replay.metrics.assembly import loops_in

CPU = "icelake-server"  # LLVM has known it since version 10; it has AVX-512
_EXTENSIONS = "+avx512fp16"  # newer than that CPU; LLVM knows what they cost all the same
_BUDGET = 6_000  # instructions that one call simulates: some 15 ms, after 30 ms of start
_FEWEST, _MOST = 4, 100  # iterations
_TIMEOUT_S = 20.0
_NEWEST, _OLDEST = 30, 13  # versions of LLVM whose tool may have a number in its name


class _Summary(msgspec.Struct, rename="pascal"):
    total_cycles: int


class _Region(msgspec.Struct, rename="pascal"):
    name: str
    summary_view: _Summary


class _Document(msgspec.Struct, rename="pascal"):
    code_regions: list[_Region]


_decode = msgspec.json.Decoder(_Document).decode
_tools: list[str] = []  # the path of llvm-mca; a worker is told it before its first job


def find_tool(environ: Mapping[str, str]) -> str | None:
    """The path of llvm-mca, or of the newest one with a version in its name."""
    names = ["llvm-mca", *(f"llvm-mca-{version}" for version in range(_NEWEST, _OLDEST - 1, -1))]
    folders = [Path(part) for part in environ.get("PATH", "").split(":") if part]
    found = (
        str(folder / name) for name in names for folder in folders if (folder / name).is_file()
    )
    return next(found, None)


def use_tool(path: bytes) -> bytes:
    """Let this process find cycles with the tool at `path`; with none where that is empty."""
    _tools[:] = [path.decode()] if path else []
    return b""


def cycles_of(assemblies: Sequence[str]) -> list[float | None]:
    """Cycles of one iteration of all innermost loops of each function, added up.

    None for all of them without the tool, or where it does not know an instruction.
    """
    nothing: list[float | None] = [None] * len(assemblies)
    if not _tools:
        return nothing
    regions = [_innermost(text) for text in assemblies]
    size = sum(len(lines) for each in regions for lines in each)
    iterations = min(_MOST, max(_FEWEST, _BUDGET // max(1, size)))
    text = "".join(
        f"# LLVM-MCA-BEGIN {number}\n" + "\n".join(lines) + "\n# LLVM-MCA-END\n"
        for number, each in enumerate(regions)
        for lines in each
    )
    totals = _totals(text, iterations)
    if totals is None:
        return nothing
    return [round(totals.get(str(n), 0) / iterations, 2) for n in range(len(assemblies))]


def _innermost(assembly: str) -> list[list[str]]:
    """The instructions of each loop that has no other inside."""
    lines = assembly.splitlines()
    loops = loops_in(assembly)
    inner = [
        (start, stop) for start, stop in loops if not any(start < s <= stop for s, _ in loops)
    ] or [(0, len(lines))]
    return [[line for line in lines[start : stop + 1] if _is_code(line)] for start, stop in inner]


def _is_code(line: str) -> bool:
    return line.startswith("\t") and not line.startswith("\t.")


def _totals(text: str, iterations: int) -> dict[str, int] | None:
    """Cycles of all iterations, added up by the name of their regions."""
    command = [
        _tools[0], "-mtriple=x86_64-unknown-linux", f"-mcpu={CPU}", f"-mattr={_EXTENSIONS}",
        f"-iterations={iterations}", "-json", "-",
    ]  # fmt: skip
    try:
        done = subprocess.run(  # the tool that `find_tool` found
            command, input=text.encode(), capture_output=True, timeout=_TIMEOUT_S, check=False
        )
        # it leaves out an instruction that it cannot parse, says so, and still ends with 0
        is_whole = done.returncode == 0 and b"error:" not in done.stderr
        document = _decode(done.stdout) if is_whole else None
    except (OSError, subprocess.TimeoutExpired, msgspec.MsgspecError):
        return None
    if document is None:
        return None
    totals: dict[str, int] = {}
    for region in document.code_regions:
        totals[region.name] = totals.get(region.name, 0) + region.summary_view.total_cycles
    return totals
