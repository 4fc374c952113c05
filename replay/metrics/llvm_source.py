"""The work of a kernel in LLVM IR.

A loop is a block that is branched back to. Its body runs as often as its counter, a phi, stays
below the limit that it is compared with. `%lo` and `%hi` stand for the launch.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence

from replay.metrics.layout import llvm_lines
from replay.metrics.nest import Nest, Sizes, Work
from replay.metrics.whole import kept, whole

_DEFINE = re.compile(r"^\s*define\s[^@]*@[^(]*\((.*)\)[^)]*\{\s*$", re.MULTILINE)
_LABEL = re.compile(r"^([-\w$.]+):")
_TARGET = re.compile(r"label %([-\w$.]+)")
_PHI = re.compile(r"^ +(%\S+) = phi i\d+ \[ ([^,]+), %\S+ \], \[ (%\S+), %\S+ \]")
_LIMIT = re.compile(r"= icmp (?:slt|ult|ne) i\d+ (%[^,]+), (\S+)")
_INTEGER = re.compile(
    r"^ +(%\S+) = (add|sub|mul|shl|trunc|zext|sext)(?: nuw| nsw| nneg)* i\d+ ([^,\s]+)(?:, (\S+))?"
)
_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "shl": lambda a, b: a << max(0, min(b, 64)),
}
_AT = re.compile(r"^ +(%\S+) = getelementptr [^,]*, ptr (%[^,\s]+)")
_LOAD = re.compile(r"= load (?:<([0-9]{1,9}) x )?[^,]*, ptr (%[^,\s]+)")
_STORE = re.compile(r"^ +store (?:<([0-9]{1,9}) x )?.*, ptr (%[^,\s]+)")
_MASKED = re.compile(
    r"@llvm\.masked\.(load|store)\.v([0-9]{1,9})[a-z]\w*\.p0\(.*?ptr [^%]*(%[^,\s)]+)"
)


def llvm_work(source: str, sizes: Sizes) -> Work | None:
    """What one launch of the module's function does; None where a loop cannot be counted."""
    found = _DEFINE.search(source)
    if found is None:
        return None
    parameters = [words[-1] for part in found[1].split(",") if (words := part.split())]
    reader = _Reader(dict(zip(parameters, sizes.names, strict=False)), sizes)
    return reader.read(llvm_lines(source[found.end() :]))


class _Reader:
    """Reads one function. `values` are numbers that are known, `pointers` point into buffers."""

    def __init__(self, given: Mapping[str, str], sizes: Sizes) -> None:
        self._nest = Nest()
        self._pointers = dict.fromkeys(
            n for n, known in given.items() if known not in sizes.variables
        )
        self._values = {n: sizes.variables[k] for n, k in given.items() if k in sizes.variables}
        self._values.update({"%lo": 0, "%hi": sizes.launch})

    def read(self, lines: Sequence[str]) -> Work | None:
        """Count; None at the first loop whose trips are not known."""
        last = _loops_of(lines)
        closing: list[int] = []
        for number, line in enumerate(lines):
            if number in last:
                if self._nest.is_too_deep:
                    return None
                trips = self._trips(lines[number : last[number] + 1])
                if trips is None:
                    return None
                self._nest.open(trips)
                closing.append(last[number])
            self._line(line)
            while closing and closing[-1] == number:
                self._nest.close()
                closing.pop()
        return self._nest.work()

    def _line(self, line: str) -> None:
        if "ptr " in line:
            self._access(line)
        elif (integer := _INTEGER.match(line)) is not None:
            self._integer(*integer.groups())

    def _access(self, line: str) -> None:
        if (at := _AT.match(line)) is not None:
            if at[2] in self._pointers:
                self._pointers[at[1]] = None
        elif (load := _LOAD.search(line)) is not None:
            if load[2] in self._pointers:
                self._nest.read(int(load[1] or 1))
        elif (store := _STORE.match(line)) is not None:
            if store[2] in self._pointers:
                self._nest.write(int(store[1] or 1))
        elif (masked := _MASKED.search(line)) is not None and masked[3] in self._pointers:
            (self._nest.read if masked[1] == "load" else self._nest.write)(int(masked[2]))

    def _integer(self, name: str, op: str, first: str, second: str | None) -> None:
        a, b = self._value(first), self._value(second or "0")
        if a is None or b is None:
            return
        operation = _ARITHMETIC.get(op)
        value = a if operation is None else kept(operation(a, b))
        if value is not None:
            self._values[name] = value

    def _value(self, text: str) -> int | None:
        text = text.rstrip(",")
        number = whole(text)
        return self._values.get(text) if number is None else number

    def _trips(self, lines: Sequence[str]) -> int | None:
        """How often the body of the loop in `lines` runs."""
        for phi in filter(None, map(_PHI.match, lines)):
            counter, start, following = phi.groups()
            limits = [m[2] for m in filter(None, map(_LIMIT.search, lines)) if m[1] == counter]
            steps = [m for m in filter(None, map(_INTEGER.match, lines)) if m[1] == following]
            if not limits or not steps or steps[0][2] != "add" or steps[0][3] != counter:
                continue
            low, high = self._value(start), self._value(limits[0])
            step = self._value(steps[0][4] or "")
            if low is not None and high is not None and step:
                return -(-(high - low) // step)
        return None


def _loops_of(lines: Sequence[str]) -> dict[int, int]:
    """The line of each loop's first label, and the last line that branches back to it."""
    labels: dict[str, int] = {}
    loops: dict[int, int] = {}
    for number, line in enumerate(lines):
        if "label " in line:  # whatever jumps
            for name in _TARGET.findall(line):
                if name in labels:
                    loops[labels[name]] = number
        elif not line.startswith(" ") and (label := _LABEL.match(line)) is not None:
            labels[label[1]] = number
    return loops
