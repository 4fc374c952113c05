"""Names inside a generated function: deterministic, unique, readable."""

import re
from collections.abc import Mapping

from compiler.ir import Op

_PLAIN = re.compile(r"[a-z]\d+([._][a-z]+\d*)*")  # g0, r0.o, r0.i_lane: no keyword looks like that
_UNSAFE = re.compile(r"[^A-Za-z0-9_]")
PREFIXES: Mapping[Op, str] = {op: op.name.lower() for op in Op}


class Names:
    """Hands out names that differ from each other. Owned by one render call."""

    def __init__(self) -> None:
        self._taken: set[str] = set()  # by anything but a count; only asked, never iterated
        self._counts: dict[str, int] = {}  # how many of each prefix are taken, or passed over

    def value(self, op: Op) -> str:
        """A name for a value made by `op`: add0, add1, ..."""
        return self.numbered(PREFIXES[op])

    def numbered(self, prefix: str) -> str:
        """The next of prefix0, prefix1, ... No prefix is another one and digits."""
        count = self._counts.get(prefix, 0)
        while (name := f"{prefix}{count}") in self._taken:
            count += 1
        self._counts[prefix] = count + 1
        return name

    def axis(self, name: str) -> str:
        """A name for the index of axis `name`."""
        safe = _UNSAFE.sub("_", name)
        return self.unique(safe if _PLAIN.fullmatch(name) else f"i_{safe}")

    def variable(self, name: str) -> str:
        """A name for variable `name`, whatever it is called: `half` becomes v_half."""
        return self.unique("v_" + _UNSAFE.sub("_", name))

    def unique(self, name: str) -> str:
        """`name`, or name_2, name_3, ... where it is taken."""
        count, candidate = 2, name
        while candidate in self._taken or self._is_counted(candidate):
            candidate = f"{name}_{count}"
            count += 1
        self._taken.add(candidate)
        return candidate

    def _is_counted(self, name: str) -> bool:
        """Whether `numbered` has given this name to a value."""
        for prefix, count in self._counts.items():
            number = name[len(prefix) :]
            if number.isdecimal() and int(number) < count and name == f"{prefix}{int(number)}":
                return True
        return False
