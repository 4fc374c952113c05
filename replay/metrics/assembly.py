"""Instructions of a function, counted in the assembly that LLVM writes for x86-64 (AT&T syntax).

Static counts, as the text has them. An instruction may count twice: `vaddps (%rdi), %zmm0, %zmm1`
is a vector instruction and a load. Assembly of another instruction set is not understood, and has
no `Code`: nothing is guessed.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_LINE = re.compile(r"^\t([a-z]\w*)(?:\t(.*))?$")
_LABEL = re.compile(r"^([.\w$]+):")
_REGISTER = re.compile(r"%(\w+)")
_PREFIX = re.compile(r"^(?:rep|repne|lock|notrack)[ \t]+")
_VECTOR_REGISTER = re.compile(r"%([xyz])mm(\d+)")
_MASK_REGISTER = re.compile(r"%k(\d)")
_STACK = re.compile(r"^(-?\d*)\((%rsp|%rbp)\)")
_BITS = {"x": 128, "y": 256, "z": 512}
_GENERAL = {
    alias: number
    for number, aliases in enumerate(
        ["rax eax ax al ah", "rbx ebx bx bl bh", "rcx ecx cx cl ch", "rdx edx dx dl dh",
         "rsi esi si sil", "rdi edi di dil", "rbp ebp bp bpl", "rsp esp sp spl"]
        + [f"r{n} r{n}d r{n}w r{n}b" for n in range(8, 16)]
    )
    for alias in aliases.split()
}  # fmt: skip
_STACK_POINTER = _GENERAL["rsp"]
_LANE = re.compile(r"v?(?:pextr|pinsr|extractps|insertps|movd|movq|movw)[bwdq]?$")
_SCALAR_FLOAT = re.compile(
    r"v?(?:\w*[a-z0-9](?:ss|sd|sh)(?:2\w+)?|cvtt?(?:ss|sd|sh)2\w+|cvtu?si2\w+)$"
)
_PACKED = re.compile(r"v?(?:p|broadcast)")
_ONLY_READ = re.compile(r"(?:v?u?comis[sdh]|cmp[bwlq]|test[bwlq]|bt[wlq]|i?div[bwlq]|i?mul[bwlq]$)")
_NO_MEMORY = re.compile(r"(?:lea|nop|prefetch)")
_LANED = ("%xmm", "%ymm", "%zmm", "%k")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its name, and its operands as they are written, the destination last."""

    name: str
    operands: tuple[str, ...]
    line: int  # of the text, from 0


@dataclass(frozen=True, slots=True)
class Code:
    """What one function is made of."""

    instructions: int
    vector: int
    scalar: int
    loads: int
    stores: int
    branches: int
    calls: int
    spills: int
    reloads: int
    loops: int
    vector_bits: int
    vector_registers: int
    general_registers: int


def code_of(assembly: str) -> Code | None:
    """The counts of a function; None where the assembly is not of x86-64."""
    instructions = tuple(instructions_in(assembly))
    if not any(instruction.name in ("retq", "jmp") for instruction in instructions):
        return None
    counts: Counter[str] = Counter()
    slots = _Slots()
    for instruction in instructions:
        counts.update(_kinds(instruction))
        counts.update(slots.uses(instruction))
    text = " ".join(operand for each in instructions for operand in each.operands)
    widths = [
        _BITS[kind]
        for each in instructions
        if _is_vector(each)
        for operand in each.operands
        for kind, _ in _VECTOR_REGISTER.findall(operand)
    ]
    general = {_GENERAL[name] for name in _REGISTER.findall(text) if name in _GENERAL}
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
        vector_bits=max(widths, default=0),
        vector_registers=len({number for _, number in _VECTOR_REGISTER.findall(text)}),
        general_registers=len(general - {_STACK_POINTER}),
    )


def instructions_in(assembly: str) -> Iterator[Instruction]:
    """Every instruction, in order; labels, directives and data are none."""
    for number, line in enumerate(assembly.splitlines()):
        found = _LINE.match(line.partition("#")[0].rstrip())
        if found is not None:
            yield Instruction(found[1], _operands(found[2] or ""), number)


def loops_in(assembly: str) -> tuple[tuple[int, int], ...]:
    """Lines of each loop: of a label, and of the last jump back to it."""
    labels: dict[str, int] = {}
    loops: dict[int, int] = {}
    for number, line in enumerate(assembly.splitlines()):
        if (label := _LABEL.match(line)) is not None:
            labels[label[1]] = number
        elif line.startswith("\tj"):
            target = line.split()[-1]
            if target in labels:
                loops[labels[target]] = number
    return tuple(loops.items())


def _operands(text: str) -> tuple[str, ...]:
    """Operands, parted by the commas that are not inside parentheses."""
    return tuple(part.strip() for part in re.split(r",(?![^(]*\))", text) if part.strip())


def _kinds(instruction: Instruction) -> Iterator[str]:
    name, operands = instruction.name, instruction.operands
    if name.startswith("j"):
        yield "branch"
        return
    if name.startswith("call"):
        yield "call"
        return
    if _is_vector(instruction):
        yield "vector"
    if _NO_MEMORY.match(name):
        return
    if any("(" in operand for operand in operands[:-1]) or _reads_last(name, operands):
        yield "load"
    if operands and "(" in operands[-1] and not _ONLY_READ.match(name):
        yield "store"


def _reads_last(name: str, operands: Sequence[str]) -> bool:
    """Whether memory that stands where results go is read: compared, or changed in place."""
    if not operands or "(" not in operands[-1]:
        return False
    return not name.removeprefix("v").startswith(("mov", "pextr", "extract", "set", "kmov", "pmov"))


def _is_vector(instruction: Instruction) -> bool:
    """Whether it works on all lanes of a vector, or on a mask of lanes."""
    name = instruction.name
    if not any(mark in operand for operand in instruction.operands for mark in _LANED):
        return False
    if _LANE.match(name):
        return False
    return bool(_PACKED.match(name)) or not _SCALAR_FLOAT.match(name)


class _Slots:
    """Which accesses are to the function's own part of the stack. Owned by one `code_of`.

    What lies above the return address are parameters; an access with an index is to an array.
    """

    def __init__(self) -> None:
        self._depth = 0  # bytes that the function has taken, without the return address
        self._has_frame = False  # %rbp points to its frame, and is no general register

    def uses(self, instruction: Instruction) -> Iterator[str]:
        """`spill` for a write to a slot, `reload` for a read of one."""
        self._track(instruction)
        if instruction.name.startswith(("push", "pop", "lea", "j", "call")):
            return
        *sources, target = instruction.operands or ("",)
        if any(map(self._is_slot, sources)) or (
            self._is_slot(target) and _reads_last(instruction.name, instruction.operands)
        ):
            yield "reload"
        if self._is_slot(target) and not _ONLY_READ.match(instruction.name):
            yield "spill"

    def _track(self, instruction: Instruction) -> None:
        name, operands = instruction.name, instruction.operands
        if name.startswith("push"):
            self._depth += 8
        elif name == "subq" and operands[-1] == "%rsp" and operands[0].startswith("$"):
            self._depth += int(operands[0][1:], 0)
        elif name == "movq" and operands == ("%rsp", "%rbp"):
            self._has_frame = True

    def _is_slot(self, operand: str) -> bool:
        found = _STACK.match(operand)
        if found is None:
            return False
        offset = int(found[1] or 0)
        if found[2] == "%rbp":
            return self._has_frame and offset < 0
        return offset < self._depth or self._has_frame
