"""Sources up to names and the order of independent statements. To add a language: LANGUAGES.

A value is named by a digest of what computes it, over the digests of its operands; parameters,
labels and variables that change are named by their place. Whatever touches memory or control flow
stays in order, and a load carries the number of such effects before it. So a swapped operand, an
exchanged buffer, a load that moved across a store, or another function give another text: two
sources are equal here only where one is the other with other names or its independent lines in
another order.

All of that is true of the forms of lines that our renderers write, one statement each. A source
with any other line is compared by letters.
"""

import re
from collections.abc import Callable, Mapping

from replay.compare.normalize.c import canonical_c
from replay.compare.normalize.llvm import canonical_llvm
from replay.compare.normalize.text import UnsureError

LANGUAGES: Mapping[str, Callable[[str], str]] = {
    "llvm": canonical_llvm,
    "opencl": canonical_c,
    "metal": canonical_c,
}
_PLAIN = re.compile(r"[\t\n -~]*+")  # compilers and Python agree on where lines of it end


def is_renamed(old: str, new: str, backend: str) -> bool:
    """Whether two sources differ in nothing but names and the order of independent statements."""
    canonical = LANGUAGES.get(backend)
    if canonical is None or not (_PLAIN.fullmatch(old) and _PLAIN.fullmatch(new)):
        return False
    try:
        return canonical(old) == canonical(new)
    except UnsureError:
        return False
