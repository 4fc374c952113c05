"""The lines that our renderers of OpenCL C and Metal write, one statement each.

A recorded source is anybody's text: repetitions give nothing back, so the time is linear.
"""

import re

from replay.compare.normalize.text import UnsureError

TYPE = (
    r"(?:(?:const|__private|__local|local|threadgroup|constant|unsigned)[ ]++){0,5}"
    r"(?:bool|char|uchar|short|ushort|int|uint|long|ulong|size_t|half|float|double)\d*+"
)
_NAME = r"(?<![\w.])[A-Za-z_]\w*+"
_NUMBER = (
    r"(?:0x[0-9a-fA-F.]++(?:[pP][-+]?\d++)?|\d++(?:\.\d*+)?(?:[eE][-+]?\d++)?)"
    r"[fFhHuUlL]*+(?!\w)"
)
_OPERATOR = r"<<|>>|[<>=!]=|&&|\|\||(?!->|\+\+|--|\*/|/[/*])[-+*/%&|^~!<>?:,()\[\]]"
_WORD = rf"(?!(?:return|if|for|while|goto|sizeof|asm)\b){_NAME}|(?<=[\w)\]])\.[A-Za-z]\w*+"
_EXPRESSION = rf"(?:[ ]++|{_NUMBER}|{_WORD}|{_OPERATOR})++"

NAMES = re.compile(_NAME)
DECLARED = re.compile(rf"\b{TYPE}\s++([A-Za-z_]\w*+)\s*+(?=[=;\[,)])")
VALUE = re.compile(rf"({TYPE}) ([A-Za-z_]\w*+)( = )({_EXPRESSION});\Z")
VARIABLE = re.compile(rf"{TYPE} [A-Za-z_]\w*+(?:\[\d++\])*+;\Z")
ASSIGNED = re.compile(rf"({_EXPRESSION})= ({_EXPRESSION});\Z")
TARGET = re.compile(r"([A-Za-z_]\w*+)(?:\[.*\]|\.[A-Za-z]\w*+)?[ ]\Z|\*\((.*)\)[ ]\Z")
CALL = re.compile(rf"([A-Za-z_]\w*+(?=\(){_EXPRESSION});\Z")
LOOP = re.compile(
    rf"for \({TYPE} ([A-Za-z_]\w*+) = ({_EXPRESSION}); ({_EXPRESSION}); (\w++)"
    r"(?:\+\+| \+= \w++)\) \{\Z"
)
CONDITION = re.compile(rf"if (?=\()({_EXPRESSION})\{{\Z")

# An & that is no operator, or a pointer that is not at once read or written through
_ADDRESS = re.compile(
    rf"(?:\A|[-+*/%&|^~!<>?:,(\[=])\s*+&|\*\s*+\)(?!\()|\(\s*+{TYPE}\s*+\)\s*+[&*]"
)
_CAST = re.compile(
    r"\(\s*+(?:(?:__global|const|device|thread|threadgroup)[ ]++){0,3}(?:packed_)?+"
    rf"{TYPE}\s*+\*?+\s*+\)(?=\s*+\()"
)
_COMPUTED = re.compile(r"[)\]]\s*+\(|\.\s*+[A-Za-z_]\w*+\s*+\(")  # a call of what has no plain name
_OPENING = {")": "(", "]": "["}


def refuse_open(expression: str) -> None:
    """Raise UnsureError for what takes an address, calls what an expression gives, or is not one
    expression by itself.
    """
    if _ADDRESS.search(expression.replace("&&", " and ")):
        raise UnsureError("an address is taken")
    if _COMPUTED.search(_CAST.sub(" ", expression)):
        raise UnsureError("what is called has no name")
    opened: list[str] = []
    for sign in re.findall(r"[][(),]", expression):
        if sign in "([":
            opened.append(sign)
        elif not opened:
            raise UnsureError("more than one thing is declared")
        elif sign != "," and opened.pop() != _OPENING[sign]:
            raise UnsureError("brackets do not match")
    if opened:
        raise UnsureError("it goes on in the next line")
