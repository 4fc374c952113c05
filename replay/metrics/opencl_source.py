"""The work of a kernel in OpenCL C: `for` loops that count up from 0, inside of the launch."""

import re
from collections.abc import Mapping
from functools import lru_cache

from replay.metrics.layout import c_lines
from replay.metrics.nest import Nest, Sizes, Work
from replay.metrics.whole import kept, whole

_HEAD = re.compile(r"^\s*__kernel\s[^{]*?\bvoid\s+\w+\s*\((.*)\)\s*\{\s*$", re.MULTILINE)
_FOR = re.compile(r"^for\(\w+ (\w+)=0;\1<(.+);\1\+\+\)\{$")
_ANY_LOOP = re.compile(r"^(?:for|while|do)\b")
_NUMBER = re.compile(r"^\w+ (\w+)=([^;]*);$")
_CAST = re.compile(r"\((?:int|uint|long|ulong|short|ushort|char|uchar)\)")
_FIRST_ITEM = re.compile(r"\blocal([012])==0\b")
_SUM = re.compile(r"[()]*(-?\w+)(?:([-+*])(-?\w+))?[()]*")


def opencl_work(source: str, sizes: Sizes) -> Work | None:
    """What all work items of one launch do; None where a loop cannot be counted."""
    found = _HEAD.search(source)
    if found is None:
        return None
    parameters = [re.split(r"[\s*]+", part.strip())[-1] for part in found[1].split(",")]
    given = dict(zip(parameters, sizes.names, strict=False))
    values = {n: sizes.variables[known] for n, known in given.items() if known in sizes.variables}
    buffers = [name for name, known in given.items() if known not in sizes.variables]
    reader = _Reader(values, _accesses(tuple(buffers)), sizes)
    return reader.read(source[found.end() :])


class _Reader:
    """Reads one kernel. The launch is the outermost loop, which has no line of its own."""

    def __init__(self, values: dict[str, int], accesses: "_Accesses", sizes: Sizes) -> None:
        self._values = values
        self._accesses = accesses
        self._nest = Nest()
        self._nest.open(sizes.launch)
        self._group = sizes.group
        self._blocks: list[int | None] = []  # that are open: loops are None, else the work items

    def read(self, body: str) -> Work | None:
        """Count; None at the first loop whose trips are not known."""
        for line in c_lines(body):
            if (loop := _FOR.match(line)) is not None:
                trips = _value(loop[2], self._values)
                if trips is None or self._nest.is_too_deep:
                    return None
                self._nest.open(trips)
                self._blocks.append(None)
            elif _ANY_LOOP.match(line):
                return None
            else:
                self._line(line)
        work = self._nest.work()
        return work and Work(work.loops - 1, work.iterations, work.reads, work.writes)

    def _line(self, line: str) -> None:
        if self._accesses.are_in(line):
            self._nest.read(self._accesses.read(line))
            self._nest.write(self._accesses.written(line))
        if line.endswith("{"):
            self._open_block(line)
        elif line == "}":
            self._close_block()
        elif (number := _NUMBER.match(line)) is not None:
            value = _value(number[2], self._values)
            if value is not None:
                self._values[number[1]] = value

    def _open_block(self, line: str) -> None:
        """A block of which one work item in each group is meant is run by that one alone."""
        items = self._nest.trips[0]
        self._blocks.append(items)
        for dimension in map(int, _FIRST_ITEM.findall(line)):
            if dimension < len(self._group):
                self._nest.trips[0] //= max(1, self._group[dimension])

    def _close_block(self) -> None:
        if not self._blocks:
            return  # the end of the kernel
        items = self._blocks.pop()
        if items is None:
            self._nest.close()
        else:
            self._nest.trips[0] = items


class _Accesses:
    """How a line names buffers: as `data0[...]`, `vload4(0, data0 + ...)` or `vstore4(...)`."""

    def __init__(self, buffers: tuple[str, ...]) -> None:
        self._buffers = buffers
        names = "|".join(map(re.escape, buffers)) or r"(?!)"
        self._vectors = re.compile(rf"\bvload(?:_half)?([0-9]{{1,4}})\([^;]*?\b(?:{names})\b")
        self._scalars = re.compile(rf"\b(?:{names})\[|\bvload_half\([^;]*?\b(?:{names})\b")
        self._stored = re.compile(rf"^(?:if\(.*\))?(?:{names})\[[^=]*\]=")
        self._vstored = re.compile(rf"\bvstore(?:_half)?([0-9]{{1,4}})\(.*,0,(?:{names})\b")

    def are_in(self, line: str) -> bool:
        """Whether it names a buffer, which most lines do not."""
        return any(name in line for name in self._buffers)

    def read(self, line: str) -> int:
        """Elements that the line reads."""
        scalars = len(self._scalars.findall(line)) - self._scalar_writes(line)
        return scalars + sum(map(int, self._vectors.findall(line)))

    def written(self, line: str) -> int:
        """Elements that the line writes."""
        return self._scalar_writes(line) + sum(map(int, self._vstored.findall(line)))

    def _scalar_writes(self, line: str) -> int:
        return 1 if self._stored.match(line) else 0


@lru_cache(maxsize=64)
def _accesses(buffers: tuple[str, ...]) -> _Accesses:
    """Kernels share the names of their buffers, and patterns are costly to make."""
    return _Accesses(buffers)


def _value(text: str, values: Mapping[str, int]) -> int | None:
    """A number, a variable that is known, or one operation on two of them."""
    found = _SUM.fullmatch(_CAST.sub("", text))
    if found is None:
        return None
    a, b = (_atom(word, values) for word in (found[1], found[3] or "0"))
    if a is None or b is None:
        return None
    return kept({"+": a + b, "-": a - b, "*": a * b, None: a}[found[2]])


def _atom(word: str, values: Mapping[str, int]) -> int | None:
    number = whole(word)
    return values.get(word) if number is None else number
