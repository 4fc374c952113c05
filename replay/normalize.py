"""Sources up to names and the order of independent statements. To add a language: LANGUAGES.

A value is named by a digest of what computes it, over the digests of its operands; parameters,
labels and variables that change are named by their place. Whatever touches memory or control flow
stays in order, and a load carries the number of such effects before it. So a swapped operand, an
exchanged buffer, a load that moved across a store, or another function give another text: two
sources are equal here only where one is the other with other names or its independent lines in
another order. What is not understood for sure is compared by letters: a name used above its
definition or defined twice where both can be seen, an address of a variable, a macro.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b


def is_renamed(old: str, new: str, backend: str) -> bool:
    """Whether two sources differ in nothing but names and the order of independent statements."""
    canonical = LANGUAGES.get(backend)
    if canonical is None:
        return False
    try:
        return canonical(old) == canonical(new)
    except _UnsureError:
        return False


class _UnsureError(Exception):
    """A source may mean another thing than its lines, one by one, seem to say."""


@dataclass(slots=True)
class _Text:
    """One source on its way to canonical form. Owned by the function that makes it."""

    names: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    floating: list[str] = field(default_factory=list)  # independent statements of the current block
    scopes: list[list[str]] = field(default_factory=list)  # the names of each, outermost first
    effects: int = 0
    places: int = 0

    def place(self, name: str, prefix: str) -> None:
        """Name by place."""
        self._define(name, f"{prefix}{self.places}")
        self.places += 1

    def value(self, name: str, text: str) -> None:
        """Name by what is computed."""
        digest = blake2b(text.encode(), digest_size=12).hexdigest()
        self._define(name, f"v.{digest}")
        self.floating.append(digest)

    def begin(self, names: Mapping[str, str]) -> None:
        """A function, in which nothing but `names` is known."""
        self.names = dict(names)
        self.scopes = [[]]

    def _define(self, name: str, text: str) -> None:
        if name in self.names:
            raise _UnsureError(f"{name} is defined twice")
        self.names[name] = text
        self.scopes[-1].append(name)

    def braces(self, line: str) -> None:
        """Open and close scopes; the names of one that is over mean nothing any more."""
        for brace in re.findall("[{}]", line):
            if brace == "{":
                self.scopes.append([])
                continue
            for name in self.scopes.pop():
                del self.names[name]
            if not self.scopes:
                raise _UnsureError("more is closed than was opened")

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
_LLVM_PURE_CALL = re.compile(
    r"^[^@]*@llvm\.(?:fma|fmuladd|sqrt|trunc|floor|ceil|rint|round|roundeven|fabs|copysign|exp|exp2"
    r"|log|log2|log10|sin|cos|tan|tanh|pow|[su]max|[su]min|abs|(?:min|max)num|(?:min|max)imum"
    r"|ctpop|ctlz|cttz|bswap|bitreverse|fsh[lr]|vector\.reduce\.\w+)\.[\w.]+\("
)


def _canonical_llvm(source: str) -> str:
    text = _Text()
    functions = re.split(r"(?m)^(?=define\s)", source)
    if len(functions) > 2:
        raise _UnsureError("which of several functions is launched is told by their names")
    for function in functions:
        _llvm_function(function, text)
        text.end_block()
    return "\n".join(text.lines)


def _llvm_function(function: str, text: _Text) -> None:
    text.begin({})
    lines = function.splitlines()
    head = lines[0] if lines else ""
    define = _LLVM_DEFINE.match(head)
    if define is None:
        text.lines.extend(lines)
        return
    if function.count(define[1]) > 1:
        raise _UnsureError("its name is more than a name")
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
    if _llvm_is_effect(opcode, rest):
        text.place(name, "%e")
        text.effect(text.names[name] + computed)
    elif opcode in ("load", "freeze"):
        text.value(name, f"{computed} after {text.effects}")
    else:
        text.value(name, computed)


def _llvm_is_effect(opcode: str, rest: str) -> bool:
    if opcode == "load":
        return rest.split()[:1] in (["volatile"], ["atomic"])
    return opcode in _LLVM_EFFECTS and not _LLVM_PURE_CALL.search(rest)


def _llvm_named(line: str, text: _Text) -> str:
    """`line` with canonical names. A block may be written above one that it comes after."""

    def known(name: re.Match[str]) -> str:
        if name[0] not in text.names:
            raise _UnsureError(f"{name[0]} is used above its definition")
        return text.names[name[0]]

    return _LLVM_NAME.sub(known, line)


# --- OpenCL C and Metal ---

# A recorded source is anybody's text: repetitions that cannot match otherwise give nothing back
# (`++`, `*+`), and none is tried again from each of its own parts. So the time is linear.
_C_TYPE = (
    r"(?:(?:const|__private|__local|local|threadgroup|constant|unsigned)\s++){0,5}"
    r"(?:bool|char|uchar|short|ushort|int|uint|long|ulong|size_t|half|float|double)\d*+"
)
_C_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*+")
_C_FUNCTION = re.compile(r"\bvoid\s++([A-Za-z_]\w*+)\s*+\(")
_C_VALUE = re.compile(rf"^(\s*+)({_C_TYPE})\s++([A-Za-z_]\w*+)(\s*+=(?!=)\s*+)(.*;)$")
_C_DECLARED = re.compile(rf"\b{_C_TYPE}\s++([A-Za-z_]\w*+)\s*+(?=[=;\[,)])")
_C_POINTER = re.compile(
    r"(?:\*\s*+(?:(?:restrict|const)\s++){0,5}(?=\w++\s*+(?:[,)]|\[\[))|&(?=\w++\s*+\[\[))([A-Za-z_]\w*+)"
)
_C_ASSIGNED = re.compile(
    r"(?<![\w.])([A-Za-z_]\w*+)\s*+(?:(?:\[[^][]*+\]|\.\w++)\s*+)*+(?:[-+*/%&|^]|<<|>>)?+=(?!=)"
)
_C_COUNTED = re.compile(r"(?:\+\+|--)\s*+([A-Za-z_]\w*+)|(?<!\w)([A-Za-z_]\w*+)\s*+(?:\+\+|--)")
_C_MEMORY = re.compile(r"\[|\*\s*+\(|\(\s*+\*|vload|&\s*+[A-Za-z_(]")
_C_CALL = re.compile(r"(?<![\w.])([A-Za-z_]\w*+)\s*+(?:<[\w\s]*+>\s*+)?+\(")
_C_PURE = re.compile(
    rf"{_C_TYPE}|(?:as|convert|get)_\w+|vload\d+|as_type|select|clamp|min|max|fmin|fmax|fabs|abs"
    r"|fma|mad|sqrt|rsqrt|rint|trunc|floor|ceil|round|exp2?|log2?|sin|cos|tan|tanh|pow|erf|is\w+"
)
_C_BY_VALUE = re.compile(rf"{_C_PURE.pattern}|if|for|while|return|vstore\d+|barrier|\w*_barrier")
_C_ADDRESS = re.compile(
    r"(?<!&)&(?=[A-Za-z_])(?!\w++\s*+\[)|(?:[(,=?:;{}<>+*/%|^!~-]|\breturn)\s*+&\s++[A-Za-z_]"
)
_C_SEVERAL = re.compile(rf"^[ \t]*+{_C_TYPE}\s++\w++\s*+,", re.MULTILINE)
_C_UNSURE = re.compile(
    r"->|[\"'\\]|/\*|^[ \t]*+#|\b(?:goto|volatile|asm)\b"
    r"|\]\s*+\]\s*+(?:[-+*/%&|^]|<<|>>)?+=(?!=)",  # whose element is assigned to is not seen
    re.MULTILINE,
)
_C_LEAVES = re.compile(r"[{}]|\b(?:return|break|continue)\b")


def _canonical_c(source: str) -> str:
    text = _Text()
    before, *functions = re.split(r"(?m)^(?=(?:__)?kernel\s)", source)
    if len(functions) != 1:
        raise _UnsureError("which of several functions is launched is told by their names")
    if "#define" in before:
        raise _UnsureError("a macro may mean any name")
    text.lines.extend(before.splitlines())
    _c_function(functions[0], text)
    text.end_block()
    return "\n".join(text.lines)


@dataclass(frozen=True, slots=True)
class _Names:
    """What the names of one function are."""

    declared: frozenset[str]
    constants: frozenset[str]  # they keep the value of the line that declares them


def _c_function(function: str, text: _Text) -> None:
    named = _C_FUNCTION.search(function)
    if named is None or any(
        unsure.search(function) for unsure in (_C_UNSURE, _C_ADDRESS, _C_SEVERAL)
    ):
        raise _UnsureError("not in a form that is understood")
    text.begin({named[1]: "@function"})
    lines = function.splitlines()
    names = _c_names(function, lines)
    for line in lines:
        _c_line(line, text, names)


def _c_names(function: str, lines: list[str]) -> _Names:
    declared = frozenset((*_C_DECLARED.findall(function), *_C_POINTER.findall(function)))
    assigned = Counter(_C_ASSIGNED.findall(function))
    assigned.update(a or b for a, b in _C_COUNTED.findall(function))
    for line in lines[1:]:
        if not _calls_only(_C_BY_VALUE, line):  # it may write to what it is given
            assigned.update(_C_NAME.findall(line))
    given = frozenset(value[3] for line in lines if (value := _C_VALUE.match(line)))
    return _Names(declared, frozenset(name for name in given if assigned[name] == 1))


def _calls_only(functions: re.Pattern[str], line: str) -> bool:
    return all(functions.fullmatch(name) for name in _C_CALL.findall(line))


def _c_line(line: str, text: _Text, names: _Names) -> None:
    value = _C_VALUE.match(line)
    if value is not None and _C_ASSIGNED.search(value[5]):
        raise _UnsureError("more than one thing is assigned to")
    if value is not None and value[3] in names.constants and _is_pure(value[5]):
        if text.effects and not text.lines[-1].rstrip().endswith((";", "{", "}")):
            raise _UnsureError("it goes on with the line before it")
        indent, kind, name, equals, rest = value.groups()
        computed = indent + kind + equals + _c_named(rest, text, names)
        if _C_MEMORY.search(rest) or _mentions_variable(rest, names):
            computed += f" after {text.effects}"
        text.value(name, computed)
        return
    text.braces(line)
    for name in (*_C_DECLARED.findall(line), *_C_POINTER.findall(line)):
        text.place(name, "@m")
    if _C_LEAVES.search(line):
        text.end_block()
    text.effect(_c_named(line, text, names))


def _is_pure(expression: str) -> bool:
    return not _C_COUNTED.search(expression) and _calls_only(_C_PURE, expression)


def _mentions_variable(rest: str, names: _Names) -> bool:
    variables = names.declared - names.constants
    return any(name in variables for name in _C_NAME.findall(rest))


def _c_named(line: str, text: _Text, names: _Names) -> str:
    def known(name: re.Match[str]) -> str:
        if name[0] in names.declared and name[0] not in text.names:
            raise _UnsureError(f"{name[0]} is used where it is not declared")
        return text.names.get(name[0], name[0])

    return _C_NAME.sub(known, line)


LANGUAGES: dict[str, Callable[[str], str]] = {
    "llvm": _canonical_llvm,
    "opencl": _canonical_c,
    "metal": _canonical_c,
}
