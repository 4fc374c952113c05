"""Sources up to names and the order of independent statements. To add a language: LANGUAGES.

A value is named by a digest of what computes it, over the digests of its operands; parameters,
labels and variables that change are named by their place. Whatever touches memory or control flow
stays in order, and a load carries the number of such effects before it. So a swapped operand, an
exchanged buffer, a load that moved across a store, or another function give another text: two
sources are equal here only where one is the other with other names or its independent lines in
another order. A source whose form is not understood is left as it is, to be compared by letters.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b


def is_renamed(old: str, new: str, backend: str) -> bool:
    """Whether two sources differ in nothing but names and the order of independent statements."""
    canonical = LANGUAGES.get(backend)
    return canonical is not None and canonical(old) == canonical(new)


@dataclass(slots=True)
class _Text:
    """One source on its way to canonical form. Owned by the function that makes it."""

    names: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    floating: list[str] = field(default_factory=list)  # independent statements of the current block
    effects: int = 0
    places: int = 0

    def place(self, name: str, prefix: str) -> None:
        """Name by place."""
        self.names[name] = f"{prefix}{self.places}"
        self.places += 1

    def value(self, name: str, text: str) -> None:
        """Name by what is computed."""
        digest = blake2b(text.encode(), digest_size=12).hexdigest()
        self.names[name] = f"v.{digest}"
        self.floating.append(digest)

    def effect(self, text: str) -> None:
        self.lines.append(text)
        self.effects += 1

    def end_block(self) -> None:
        self.lines.extend(sorted(self.floating))
        self.floating.clear()


# --- LLVM IR ---

_LLVM_NAME = re.compile(r'%(?:[-a-zA-Z$._0-9]+|"[^"]*")')
_LLVM_DEFINE = re.compile(r"define\s.*?(@[-a-zA-Z$._0-9]+|@\"[^\"]*\")\s*\(")
_LLVM_LABEL = re.compile(r'^([-a-zA-Z$._0-9]+|"[^"]*"):')
_LLVM_VALUE = re.compile(r'^(\s*)(%(?:[-a-zA-Z$._0-9]+|"[^"]*"))( = )(\w+)(.*)$')
_LLVM_EFFECTS = ("call", "invoke", "atomicrmw", "cmpxchg", "va_arg", "landingpad", "alloca")
_LLVM_PURE_CALL = re.compile(r"@llvm\.(?!mem|masked|x86|lifetime|experimental|va_|stack)[\w.]+\(")


def _canonical_llvm(source: str) -> str:
    text = _Text()
    for function in re.split(r"(?m)^(?=define\s)", source):
        _llvm_function(function, text)
        text.end_block()
    return "\n".join(text.lines)


def _llvm_function(function: str, text: _Text) -> None:
    text.names.clear()
    lines = function.splitlines()
    head = lines[0] if lines else ""
    define = _LLVM_DEFINE.match(head)
    if define is None:
        text.lines.extend(lines)
        return
    for name in _LLVM_NAME.findall(head):
        text.place(name, "%p")
    _llvm_places(lines[1:], text)
    text.effect(_llvm_named(head, text).replace(define[1], "@function", 1))
    phis: list[str] = []
    for line in lines[1:]:
        _llvm_line(line, text, phis)
    text.end_block()
    text.lines.extend(_llvm_named(line, text) for line in phis)


def _llvm_places(lines: list[str], text: _Text) -> None:
    """Labels and phis may be used above their line: name them first."""
    for line in lines:
        if label := _LLVM_LABEL.match(line):
            text.place(f"%{label[1]}", "%b")
        elif (value := _LLVM_VALUE.match(line)) and value[4] == "phi":
            text.place(value[2], "%phi")


def _llvm_line(line: str, text: _Text, phis: list[str]) -> None:
    if label := _LLVM_LABEL.match(line):
        text.end_block()
        text.effect(text.names[f"%{label[1]}"] + line[label.end() :])
        return
    value = _LLVM_VALUE.match(line)
    if value is None:
        text.effect(_llvm_named(line, text))
        return
    indent, name, equals, opcode, rest = value.groups()
    if opcode == "phi":
        phis.append(line)  # its operands may come later
        return
    computed = indent + equals + opcode + _llvm_named(rest, text)
    if opcode in _LLVM_EFFECTS and not _LLVM_PURE_CALL.search(rest):
        text.place(name, "%e")
        text.effect(text.names[name] + computed)
    elif opcode in ("load", "freeze"):
        text.value(name, f"{computed} after {text.effects}")
    else:
        text.value(name, computed)


def _llvm_named(line: str, text: _Text) -> str:
    return _LLVM_NAME.sub(lambda name: text.names.get(name[0], name[0]), line)


# --- OpenCL C and Metal ---

_C_TYPE = (
    r"(?:(?:const|__private|__local|local|threadgroup|constant|unsigned|volatile)\s+)*"
    r"(?:bool|char|uchar|short|ushort|int|uint|long|ulong|size_t|half|float|double)\d*"
)
_C_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_C_FUNCTION = re.compile(r"\bvoid\s+([A-Za-z_]\w*)\s*\(")
_C_VALUE = re.compile(rf"^(\s*)({_C_TYPE})\s+([A-Za-z_]\w*)(\s*=\s*)(.*;)$")
_C_DECLARED = re.compile(rf"\b(?:{_C_TYPE})\s+([A-Za-z_]\w*)\s*(?=[=;\[,)])")
_C_POINTER = re.compile(
    r"(?:\*\s*(?:(?:restrict|const|volatile)\s+)*(?=\w+\s*(?:[,)]|\[\[))|&(?=\w+\s*\[\[))([A-Za-z_]\w*)"
)
_C_ASSIGNED = re.compile(
    r"(?<![\w.])([A-Za-z_]\w*)\s*(?:\[[^]]*\]|\.\w+)?\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)"
)
_C_COUNTED = re.compile(r"(?:\+\+|--)\s*([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*(?:\+\+|--)")
_C_MEMORY = re.compile(r"\[|\*\s*\(|\(\s*\*|vload|&\s*[A-Za-z_(]")
_C_EFFECT = re.compile(r"\b(?:barrier|mem_fence|vstore\w*|atomic\w*|printf|prefetch)\s*\(")


def _canonical_c(source: str) -> str:
    text = _Text()
    for function in re.split(r"(?m)^(?=(?:__)?kernel\s)", source):
        _c_function(function, text)
        text.end_block()
    return "\n".join(text.lines)


def _c_function(function: str, text: _Text) -> None:
    declared = Counter(_C_DECLARED.findall(function)) + Counter(_C_POINTER.findall(function))
    named = _C_FUNCTION.search(function)
    if named is None or any(
        count > 1 and not _is_loop_variable(name, function) for name, count in declared.items()
    ):
        text.lines.extend(function.splitlines())  # shadowed names: leave it as it is
        return
    text.names = {named[1]: "function"}
    assigned = Counter(_C_ASSIGNED.findall(function))
    assigned.update(a or b for a, b in _C_COUNTED.findall(function))
    constants = {name for name in declared if assigned[name] == 1}
    for line in function.splitlines():
        _c_line(line, text, constants, frozenset(declared))


def _is_loop_variable(name: str, function: str) -> bool:
    loops = re.findall(rf"\bfor\s*\(\s*{_C_TYPE}\s+{name}\b", function)
    return len(loops) == len(re.findall(rf"(?:{_C_TYPE})\s+{name}\s*=", function))


def _c_line(line: str, text: _Text, constants: set[str], declared: frozenset[str]) -> None:
    value = _C_VALUE.match(line)
    if value is not None and value[3] in constants and not _C_EFFECT.search(line):
        indent, kind, name, equals, rest = value.groups()
        computed = indent + kind + equals + _c_named(rest, text)
        if _C_MEMORY.search(rest) or _mentions_variable(rest, constants, declared):
            computed += f" after {text.effects}"
        text.value(name, computed)
        return
    for name in (*_C_DECLARED.findall(line), *_C_POINTER.findall(line)):
        text.place(name, "m")
    if "{" in line or "}" in line:
        text.end_block()
    text.effect(_c_named(line, text))


def _mentions_variable(rest: str, constants: set[str], declared: frozenset[str]) -> bool:
    return any(name in declared and name not in constants for name in _C_NAME.findall(rest))


def _c_named(line: str, text: _Text) -> str:
    return _C_NAME.sub(lambda name: text.names.get(name[0], name[0]), line)


LANGUAGES: dict[str, Callable[[str], str]] = {
    "llvm": _canonical_llvm,
    "opencl": _canonical_c,
    "metal": _canonical_c,
}
