"""LLVM IR in canonical form: one `define`, one statement a line, nothing in quotes.

https://llvm.org/docs/LangRef.html
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from replay.compare.normalize.text import Text, UnsureError

# A recorded source is anybody's text: repetitions give nothing back, so the time is linear.
_NAME = r"%[-a-zA-Z$._0-9]++"
_WORDS = (
    "x ptr void half bfloat float double label to true false null poison zeroinitializer splat"
    " nsw nuw exact inbounds nneg disjoint fast nnan ninf nsz arcp contract afn reassoc volatile"
    " align noalias nocapture noundef nonnull readonly readnone writeonly nounwind willreturn"
    " local_unnamed_addr"
    " eq ne ugt uge ult ule sgt sge slt sle oeq ogt oge olt ole one ord ueq une uno"
).replace(" ", "|")
_TOKEN = (
    rf"[ \t]++|{_NAME}|@[-a-zA-Z$._0-9]++|#\d++|![\w.]*+|(?:i\d++|{_WORDS})(?![-\w$.])"
    r"|-?0x[A-Z]?[0-9A-F]++|-?\d++(?:\.\d++(?:[eE][-+]?\d++)?)?(?![-\w$.])|[,()<>\[\]{}]"
)
_PLAIN = rf"(?:{_TOKEN})*+"
_DEFINE = re.compile(rf"define (?:dso_local )?(?=[^@]*+(@[-a-zA-Z$._0-9]++)\(){_PLAIN}\Z")
_LABEL = re.compile(r"([-a-zA-Z$._0-9]++):\Z")
_VALUE = re.compile(rf"(\s*+)({_NAME})( = )((?:tail )?)([a-z]++)(?![-\w$.])({_PLAIN})\Z")
_OTHER = re.compile(rf"\s*+(?:store|br|ret|call|tail call|unreachable)(?![-\w$.]){_PLAIN}\Z")
_TERMINATOR = re.compile(r"\s*+(?:br|ret|unreachable)(?![-\w$.])")
_PHI = re.compile(rf"\s*+{_NAME} = phi ")
_NAMES = re.compile(_NAME)
_PARAMETER = re.compile(rf"({_NAME})(?=\s*+[,)])")
_ARITHMETIC = re.compile(
    "(?:fneg add fadd sub fsub mul fmul fdiv frem shl lshr ashr and or xor icmp"
    " fcmp select trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint inttoptr"
    " bitcast getelementptr extractelement insertelement shufflevector)\\Z".replace(" ", "|")
)
_DIVISIONS = ("udiv", "sdiv", "urem", "srem")  # by 0 they trap, after what may never return
_PURE_CALL = re.compile(
    r"[^@]*+@llvm\.(?:fma|fmuladd|sqrt|trunc|floor|ceil|rint|round|roundeven|fabs|copysign|exp|exp2"
    r"|log|log2|log10|sin|cos|tan|tanh|pow|[su]max|[su]min|abs|(?:min|max)num|(?:min|max)imum"
    r"|ctpop|ctlz|cttz|bswap|bitreverse|fsh[lr]|vector\.reduce\.\w+)\.[\w.]+\("
)


def canonical_llvm(source: str) -> str:
    """The canonical form. Raises UnsureError where the source is not plainly what it seems."""
    before, *functions = re.split(r"(?m)^(?=define\s)", source)
    if len(functions) != 1:
        raise UnsureError("which of several functions is launched is told by their names")
    lines = functions[0].splitlines()
    if "}" not in lines:
        raise UnsureError("its function has no end")
    end = lines.index("}")
    around = [*before.splitlines(), "}", *lines[end + 1 :]]
    if any("%" in line or "define" in line for line in around):
        raise UnsureError("names stand outside of its function")
    text = Text()
    _function(lines[:end], text)
    if source.count(_head(lines[0])[1]) > 1:
        raise UnsureError("its name is more than a name")
    return "\n".join([*text.lines, *around])


def _head(line: str) -> re.Match[str]:
    head = _DEFINE.match(line)
    if head is None:
        raise UnsureError("its first line is not of the plain form")
    return head


def _function(lines: list[str], text: Text) -> None:
    head = _head(lines[0])
    parameters = _PARAMETER.findall(lines[0])
    if parameters != _NAMES.findall(lines[0]):
        raise UnsureError("a type has a name")
    for name in parameters:
        text.place(name, "%p")
    body = list(_without_comments(lines[1:]))
    _check_blocks([*body, "end:"])
    _places(body, text)
    text.effect(_named(lines[0], text).replace(head[1], "@function", 1))
    phis: list[str] = []
    for line in body:
        _line(line, text, phis)
    text.end_block()
    text.lines.extend(_named(line, text) for line in phis)


def _without_comments(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if '"' in line:
            raise UnsureError("what is in quotes may name anything")
        code = line.partition(";")[0].rstrip()
        if code:
            yield code


def _check_blocks(lines: list[str]) -> None:
    """Statements of one block are sorted: see that none is where its block cannot have it."""
    for above, line in pairwise(lines):
        is_label = _LABEL.match(line) is not None
        if is_label is not (_TERMINATOR.match(above) is not None):
            raise UnsureError(f"a block ends where none should, or goes on: {above}")
        if _PHI.match(line) and not (_LABEL.match(above) or _PHI.match(above)):
            raise UnsureError(f"not at the begin of its block: {line}")


def _places(lines: list[str], text: Text) -> None:
    """Labels and phis may be used above their line: name them first."""
    for line in lines:
        if label := _LABEL.match(line):
            text.place(f"%{label[1]}", "%b")
        elif (value := _VALUE.match(line)) and value[5] == "phi":
            text.place(value[2], "%phi")


def _line(line: str, text: Text, phis: list[str]) -> None:
    if label := _LABEL.match(line):
        text.end_block()
        text.effect(f"{text.known(f'%{label[1]}')}:")
        return
    value = _VALUE.match(line)
    if value is None:
        if _OTHER.match(line) is None:
            raise UnsureError(f"not one plain statement: {line}")
        text.effect(_named(line, text))
        return
    indent, name, equals, tail, opcode, rest = value.groups()
    if opcode == "phi":
        phis.append(line)  # its operands may come later
        return
    computed = indent + equals + tail + opcode + _named(rest, text)
    if _ARITHMETIC.match(opcode) or (opcode == "call" and _PURE_CALL.match(rest)):
        text.value(name, computed)
    elif opcode in _DIVISIONS or (opcode == "load" and "volatile" not in rest):
        text.value(name, f"{computed} after {text.effects}")
    elif opcode in ("load", "call", "alloca"):
        text.place(name, "%e")
        text.effect(text.known(name) + computed)
    else:
        raise UnsureError(f"no plain operation: {opcode}")


def _named(line: str, text: Text) -> str:
    """`line` with canonical names. A block may be written above one that it comes after."""
    return _NAMES.sub(lambda name: text.known(name[0]), line)
