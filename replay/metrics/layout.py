"""Sources in one layout, whatever blanks a renderer writes: counts must not follow them."""

import re

_BLANKS = re.compile(r"[ \t]+")
_LLVM = (
    (re.compile(r" ?([,]) ?"), r"\1 "),
    (re.compile(r" ?([=]) ?"), r" \1 "),
    (re.compile(r"\[ ?"), "[ "),
    (re.compile(r" ?\]"), " ]"),
    (re.compile(r"(?<=[(<]) | (?=[)>])"), ""),
    (re.compile(r"(?<=\w)(?=[%<])"), " "),
)
_LABEL = re.compile(r"[-\w$.]+:")
_C = re.compile(r"(?<!\w) | (?!\w)")


def llvm_lines(text: str) -> list[str]:
    """Lines of LLVM IR with single blanks where they part words; labels at the margin."""
    text = _BLANKS.sub(" ", text)
    for pattern, instead in _LLVM:
        text = pattern.sub(instead, text)
    lines = [line.strip() for line in text.splitlines()]
    return [line if _LABEL.match(line) else f"  {line}" for line in lines if line]


def c_lines(text: str) -> list[str]:
    """Lines of C with no blanks but those between two words."""
    lines = [_C.sub("", _BLANKS.sub(" ", line)) for line in text.splitlines()]
    return [line for line in lines if line]
