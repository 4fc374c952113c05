"""Whether two sources are one program: the same tokens, with other blanks and comments between.

To add a language: its tokens, and a line in LANGUAGES. What is not sure is no: a source with
anything that makes the layout mean something (a macro, a spliced line) is compared by letters.
"""

import re
from collections.abc import Callable, Sequence

Tokens = Sequence[str]


def are_one_program(old: str, new: str, backend: str) -> bool:
    """Whether a compiler is told the same by both sources."""
    if old == new:
        return True
    tokens = LANGUAGES.get(backend)
    if tokens is None:
        return False
    before = tokens(old)
    return before is not None and before == tokens(new)


# --- OpenCL C and Metal: the preprocessing tokens of C99 6.4, by the longest match ---

_C_TOKEN = re.compile(
    r"""
    (?P<directive> ^[ \t]*\#(?:pragma|include)\b[^\n]* )
  | (?P<blank> \n | [ \t\v\f\r]+ | //[^\n\r]* | /\*.*?\*/ )
  | (?P<token>
        (?: L | u8? | U )? (?: "[^"\n]*" | '[^'\n]*' )
      | \.?[0-9] (?: [eEpP][+-] | [\w.] )*
      | [A-Za-z_]\w*
      | \.\.\. | <<= | >>= | -> | \+\+ | -- | << | >> | <= | >= | == | != | && | \|\|
      | [-+*/%&^|]= | :: | <: | :> | <% | %>
      | . )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE | re.ASCII,
)
# Spliced lines and escapes, trigraphs, the number of a line, a digraph that begins a directive
_C_UNSURE = ("\\", "??", "__LINE__", "%:")
_C_LONE = ('"', "'", "#")  # quotes that never end; directives other than those two


def _c_tokens(source: str) -> Tokens | None:
    """The tokens, each pragma or include as one with its line; None where layout may mean more."""
    if any(text in source for text in _C_UNSURE):
        return None
    if source.rfind("/*") > source.rfind("*/"):
        return None  # each would be looked for in all that follows
    found: list[str] = []
    for match in _C_TOKEN.finditer(source):
        text = match[0]
        if match.lastgroup == "token":
            found.append(text)
        elif match.lastgroup == "directive":
            found.append(" ".join(text.split()))
            if "/*" in text:
                return None  # a comment that may go on in the next line
    return None if any(lone in found for lone in _C_LONE) else found


# --- LLVM IR: its lexer joins letters, digits, `-$._`, and signs that stand beside them ---

_LLVM_TOKEN = re.compile(
    r"""
    (?P<blank> [ \t\r\n]+ | ;[^\n\r]* )
  | (?P<token>
        [-\w.$@%!\#^:+]* "[^"]*" :?
      | [-\w.$@%!\#^:+]+
      | . )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)


def _llvm_tokens(source: str) -> Tokens | None:
    """The tokens, some of them glued together, which can only make two sources differ."""
    found = [match[0] for match in _LLVM_TOKEN.finditer(source) if match.lastgroup == "token"]
    return None if '"' in found else found


LANGUAGES: dict[str, Callable[[str], Tokens | None]] = {
    "llvm": _llvm_tokens,
    "opencl": _c_tokens,
    "metal": _c_tokens,
}
