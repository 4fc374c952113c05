"""OpenCL C and Metal in canonical form: one kernel, one statement a line, no pointer to a variable.

What comes before the kernel (pragmas, functions of tensor cores) is compared by letters.
"""

import re
from collections import Counter
from dataclasses import dataclass

from replay.compare.normalize.c_forms import (
    ASSIGNED,
    CALL,
    CONDITION,
    DECLARED,
    LOOP,
    NAMES,
    TARGET,
    TYPE,
    VALUE,
    VARIABLE,
    refuse_open,
)  # fmt: skip
from replay.compare.normalize.text import Text, UnsureError

_HEAD = re.compile(r"(?:__)?kernel [^;{}\"'#\\/]*\{\Z")
_KERNEL = re.compile(r"\bvoid\s++([A-Za-z_]\w*+)\s*+\(")
_POINTER = re.compile(  # or what Metal has for one
    r"(?:\*\s*+(?:(?:restrict|const)\s++){0,5}(?=\w++\s*+(?:[,)]|\[\[))"
    r"|&(?=\w++\s*+\[\[))([A-Za-z_]\w*+)"
)
_DIRECTIVE = re.compile(r"#(?:pragma [\w ():]*|include <metal_stdlib>)\Z")
_MEANS_MORE = re.compile(  # the last line: C++ has words for operators
    r"\\|%:|\?\?|\b(?:typedef|struct|class|union|enum|template|_Pragma"
    r"|bitand|bitor|compl|(?:and|or|not|xor)(?:_eq)?)\b"
)
_MAY_TRAP = re.compile("[/%]")
_CALLED = re.compile(r"(?<![\w.])([A-Za-z_]\w*+)\s*+(?:<[\w ]*+>\s*+)?+\(")
_PURE = re.compile(
    rf"{TYPE}|(?:as|convert|get)_\w+|vload\d+|as_type|select|clamp|min|max|fmin|fmax|fabs|abs"
    r"|fma|mad|sqrt|rsqrt|rint|trunc|floor|ceil|round|exp2?|log2?|sin|cos|tan|tanh|pow|erf|is\w+"
)
_BY_VALUE = re.compile(rf"{_PURE.pattern}|if|for|vstore\d+|barrier|\w*_barrier")


@dataclass(frozen=True, slots=True)
class _Names:
    """What the names of one kernel are."""

    above: frozenset[str]  # all of the text before the kernel: its functions do what they like
    declared: frozenset[str]
    constants: frozenset[str]  # they keep the value of the line that declares them


def canonical_c(source: str) -> str:
    """The canonical form. Raises UnsureError where the source is not plainly what it seems."""
    before, *kernels = re.split(r"(?m)^(?=(?:__)?kernel\s)", source)
    if len(kernels) != 1 or len(re.findall(r"\b(?:__)?kernel\b", source)) != 1:
        raise UnsureError("which of several kernels is launched is told by their names")
    text = Text(lines=before.splitlines())
    if "volatile" in kernels[0] or _MEANS_MORE.search(source):
        raise UnsureError("a line may mean another thing than it seems to")
    for line in text.lines:
        if "#" in line and _DIRECTIVE.match(line) is None:
            raise UnsureError(f"what follows may mean another thing: {line}")
    words = frozenset(re.findall(r"[A-Za-z_]\w*+", before))
    _kernel(kernels[0], frozenset(word for word in words if not re.fullmatch(TYPE, word)), text)
    text.end_block()
    return "\n".join(text.lines)


def _kernel(kernel: str, above: frozenset[str], text: Text) -> None:
    head, *lines = kernel.rstrip().splitlines()
    named = _KERNEL.search(head)
    if named is None or _HEAD.match(head) is None or not lines or lines[-1] != "}":
        raise UnsureError("not one plain kernel")
    parameters = (*DECLARED.findall(head), *_POINTER.findall(head))
    names = _names(parameters, [line.strip() for line in lines], above)
    text.define(named[1], "@function")
    for name in parameters:
        text.place(name, "@m")
    text.effect(_renamed(head, text, names))
    text.open_scope()
    for line in lines:
        _line(line, text, names)
    if len(text.scopes) != 1:
        raise UnsureError("not all is closed that was opened")


def _names(parameters: tuple[str, ...], lines: list[str], above: frozenset[str]) -> _Names:
    assigned: Counter[str] = Counter()
    given: set[str] = set()
    for line in lines:
        if value := VALUE.match(line):
            given.add(value[2])
            assigned[value[2]] += 1
        elif loop := LOOP.match(line):
            assigned.update((loop[1], loop[4]))
        elif store := ASSIGNED.match(line):
            target = TARGET.match(store[1])
            assigned.update(NAMES.findall(store[1] if target is None else target[1] or ""))
        if not _calls_only(_BY_VALUE, line, above):  # it may write to what it is given
            assigned.update(NAMES.findall(line))
    constants = frozenset(name for name in given if assigned[name] == 1)
    declared = [name for line in lines for name in DECLARED.findall(line)]
    return _Names(above, frozenset((*parameters, *declared)), constants)


def _calls_only(functions: re.Pattern[str], line: str, above: frozenset[str]) -> bool:
    """Whether all that `line` calls are such functions of the language."""
    called = _CALLED.findall(line)
    return all(functions.fullmatch(name) and name not in above for name in called)


def _line(line: str, text: Text, names: _Names) -> None:
    code = line.strip()
    if code == "}":
        text.end_block()
        text.close_scope()
    elif value := VALUE.match(code):
        _value(line[: line.index(code)], value, text, names)
        return
    elif loop := LOOP.match(code):
        refuse_open(loop[2])
        refuse_open(loop[3])
        text.end_block()
        text.open_scope()
        text.place(loop[1], "@m")
    elif condition := CONDITION.match(code):
        refuse_open(condition[1])
        text.end_block()
        text.open_scope()
    elif VARIABLE.match(code):
        text.place(DECLARED.findall(code)[0], "@m")
    else:
        _refuse_unknown(code)
    text.effect(_renamed(line, text, names))


def _value(indent: str, value: re.Match[str], text: Text, names: _Names) -> None:
    kind, name, equals, expression = value.groups()
    refuse_open(expression)
    computed = indent + kind + equals + _renamed(expression, text, names)
    if name in names.constants and _calls_only(_PURE, expression, names.above):
        if not _is_constant(expression, names) or _MAY_TRAP.search(expression):
            computed += f" after {text.effects}"
        text.value(name, computed)
    else:
        text.place(name, "@m")
        text.effect(text.known(name) + computed)


def _is_constant(expression: str, names: _Names) -> bool:
    """Whether nothing that an expression names can change: all else may be memory."""
    called = frozenset(_CALLED.findall(expression))
    return all(
        name in names.constants or name in called or re.fullmatch(TYPE, name)
        for name in NAMES.findall(expression)
    )


def _refuse_unknown(code: str) -> None:
    """Refuse what neither assigns to one thing nor calls one function."""
    if (store := ASSIGNED.match(code)) and TARGET.match(store[1]):
        refuse_open(store[1])
        refuse_open(store[2])
    elif call := CALL.match(code):
        refuse_open(call[1])
    else:
        raise UnsureError(f"not one plain statement: {code}")


def _renamed(line: str, text: Text, names: _Names) -> str:
    def canonical(name: re.Match[str]) -> str:
        if name[0] in names.declared:
            return text.known(name[0])
        return text.names.get(name[0], name[0])

    return NAMES.sub(canonical, line)
