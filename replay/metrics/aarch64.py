"""Instructions of a function, counted in the assembly that LLVM writes for AArch64.

The same counts as those of x86-64. NEON and SVE work on `v0.4s`, `q0`, `z0.s` and predicates; one
lane of them (`v0.s[1]`) and `d0`, `s0`, `h0` are scalars. An SVE register is as wide as the least
there is, 128 bits: how wide it will be, no assembly says.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from replay.metrics.assembly import Code, Instruction

_LINE = re.compile(r"^\t([a-z][\w.]*)(?:\t(.*))?$")
_LABEL = re.compile(r"^([.\w$]+):")
_DIRECTIVE = "."
_BRANCH = re.compile(r"(?:b|br|b\.\w+|cbn?z|tbn?z)\Z")
_CALL = re.compile(r"(?:bl|blr)\Z")
_LOAD, _STORE = re.compile(r"ld(?!a?xp?r)"), re.compile(r"st(?!l?xp?r)")
_LANES = re.compile(r"\bv\d+\.(\d+)([bhsd])\b(?!\[)")
_WHOLE = re.compile(r"\b(?:q|z)\d+\b|\bp\d+(?:\.[bhsd]|/[mz])?\b")
_BITS = {"b": 8, "h": 16, "s": 32, "d": 64}
_SVE_BITS = 128
_VECTOR_REGISTER = re.compile(r"\b[vqdshbz](\d+)\b")
_GENERAL_REGISTER = re.compile(r"\b[xw](\d+)\b")
_SAVED = re.compile(r"(?:[xw](?:19|2\d|30)|[dqv](?:8|9|1[0-5]))\Z")  # they are the caller's
_STACK = re.compile(r"\[(sp|x29)(?:, #(-?\w+))?\](!?)\Z")
_IMMEDIATE = re.compile(r"#(-?(?:0x)?[\da-f]+)\Z")
_SPLIT = re.compile(r",(?![^\[{]*[\]}])")  # commas that are not inside an address or a list


def code_of(assembly: str) -> Code | None:
    """The counts of a function; None where the assembly is not of AArch64."""
    instructions = tuple(instructions_in(assembly))
    if not any(instruction.name in ("ret", "br") for instruction in instructions):
        return None
    counts: Counter[str] = Counter()
    slots = _Slots()
    for instruction in instructions:
        counts.update(_kinds(instruction))
        counts.update(slots.uses(instruction))
    text = " ".join(operand for each in instructions for operand in each.operands)
    return Code(
        instructions=len(instructions),
        vector=counts["vector"],
        scalar=len(instructions) - counts["vector"] - counts["branch"] - counts["call"],
        loads=counts["load"],
        stores=counts["store"],
        branches=counts["branch"],
        calls=counts["call"],
        spills=counts["spill"],
        reloads=counts["reload"],
        loops=len(loops_in(assembly)),
        vector_bits=max((_width(each) for each in instructions), default=0),
        vector_registers=len(set(_VECTOR_REGISTER.findall(text))),
        general_registers=len(set(_GENERAL_REGISTER.findall(text))),
    )


def instructions_in(assembly: str) -> Iterator[Instruction]:
    """Every instruction, in order; labels, directives and data are none."""
    for number, line in enumerate(assembly.splitlines()):
        found = _LINE.match(line.partition("//")[0].rstrip())
        if found is not None:
            operands = tuple(part.strip() for part in _SPLIT.split(found[2] or "") if part.strip())
            yield Instruction(found[1], operands, number)


def loops_in(assembly: str) -> tuple[tuple[int, int], ...]:
    """Lines of each loop: of a label, and of the last jump back to it."""
    labels = {
        label[1]: number
        for number, line in enumerate(assembly.splitlines())
        if (label := _LABEL.match(line)) is not None
    }
    loops: dict[int, int] = {}
    for each in instructions_in(assembly):
        start = labels.get(each.operands[-1]) if each.operands else None
        if start is not None and start < each.line and _BRANCH.match(each.name):
            loops[start] = each.line
    return tuple(loops.items())


def _kinds(instruction: Instruction) -> Iterator[str]:
    if _BRANCH.match(instruction.name):
        yield "branch"
        return
    if _CALL.match(instruction.name):
        yield "call"
        return
    if _width(instruction):
        yield "vector"
    if _LOAD.match(instruction.name):
        yield "load"
    if _STORE.match(instruction.name):
        yield "store"


def _width(instruction: Instruction) -> int:
    """The bits of its widest register that is a vector; 0 where none is."""
    text = " ".join(instruction.operands)
    neon = [int(lanes) * _BITS[kind] for lanes, kind in _LANES.findall(text)]
    return max([*neon, *([_SVE_BITS] if _WHOLE.search(text) else [])], default=0)


@dataclass(slots=True)
class _Slots:
    """Which accesses are to the function's own part of the stack. Owned by one `code_of`.

    Registers that are the caller's are saved there and restored; that is no spill. What lies above
    are parameters.
    """

    depth: int = 0  # bytes that the function has taken
    frame: int | None = None  # where x29 points, from the caller's stack pointer; None: elsewhere
    written: set[str] = field(default_factory=set)  # registers that hold values of its own
    saved: set[int] = field(default_factory=set)  # slots of the caller's registers

    def uses(self, instruction: Instruction) -> Iterator[str]:
        """`spill` for a write to a slot, `reload` for a read of one."""
        name, operands = instruction.name, instruction.operands
        is_load, is_store = bool(_LOAD.match(name)), bool(_STORE.match(name))
        at = self._slot(operands)
        registers = operands[: 2 if name in ("stp", "ldp") else 1]
        if at is not None and is_store:
            if all(_SAVED.match(each) and each not in self.written for each in registers):
                self.saved.add(at)
            elif "x29" not in registers:
                self.saved.discard(at)
                yield "spill"
        elif at is not None and is_load and at not in self.saved and "x29" not in registers:
            yield "reload"
        if not is_store:
            self.written.update(registers)
        self._move(name, operands)

    def _slot(self, operands: Sequence[str]) -> int | None:
        """Where an access is, from the caller's stack pointer, if that is below it."""
        for operand in operands:
            found = _STACK.match(operand)
            if found is None:
                continue
            base = -self.depth if found[1] == "sp" else self.frame
            if base is None:
                return None
            at = base + int(found[2] or "0", 0)
            return at if at < 0 else None
        return None

    def _move(self, name: str, operands: Sequence[str]) -> None:
        """Follow the stack pointer, and x29 where it is the frame's."""
        amount = _IMMEDIATE.match(operands[-1]) if operands else None
        by = int(amount[1], 0) if amount else 0
        if operands[:2] == ("sp", "sp") and name in ("sub", "add"):
            self.depth += by if name == "sub" else -by
        elif operands[:2] in (("x29", "sp"),) and name in ("add", "mov"):
            self.frame = by - self.depth
        for place, operand in enumerate(operands):
            found = _STACK.match(operand)
            if found is None or found[1] != "sp":
                continue
            if found[3]:
                self.depth -= int(found[2] or "0", 0)
            elif place == len(operands) - 2 and amount:
                self.depth -= by
