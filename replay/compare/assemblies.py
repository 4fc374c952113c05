"""Both assemblies of a changed kernel on their way to a report: short, compressed, or cut."""

import zlib

import msgspec

from replay.outcome import Result

_MOST = 24_000  # characters of each side: of what is longer, the start is shown
_CUT = "... cut here"


def packed(old: str, new: str) -> bytes | None:
    """The instructions and labels of both, in a few hundred bytes; None where they are equal."""
    if old == new:
        return None
    return zlib.compress(msgspec.msgpack.encode((_readable(old), _readable(new))), 6)


def assemblies_of(result: Result) -> tuple[str, str]:
    """The assembly of the old kernel and of the new one; empty where they are not known."""
    if result.code is None:
        return "", ""
    return msgspec.msgpack.decode(zlib.decompress(result.code), type=tuple[str, str])


def _readable(assembly: str) -> str:
    """Without directives, which say nothing of what is executed."""
    lines = [line for line in assembly.splitlines() if line.strip() and not _is_directive(line)]
    text = "\n".join(lines)
    return text if len(text) <= _MOST else f"{text[:_MOST]}\n{_CUT}"


def _is_directive(line: str) -> bool:
    return line.startswith(("\t.p2align", "\t.section", "\t.size", "\t.type", "\t.globl", "\t.file",
                            "\t.text", "\t.cfi", ".Lfunc_end"))  # fmt: skip
