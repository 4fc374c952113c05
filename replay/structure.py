"""Digests of the stages of a compile, cheap enough to be made for every kernel that is captured.

Nodes are numbered as they first appear, stage after stage; one that several stages share is looked
at once, and no text is made of it. A digest covers its stage and all before it: the first that
differs is where two compiles parted. It depends on the graphs alone.
"""

import sys
from array import array
from collections.abc import Iterable
from hashlib import sha256

from compiler.ir import FIELDS, Field, Node, Op, operands, toposort

MARK = "s"  # as replay/records.py knows them

_HEX_DIGITS = 15
_CONST = Op.CONST
_NAMES = {op: op.name for op in Op}
_NAMED = (Field.OP, Field.KIND)


def stage_digests(stages: Iterable[tuple[str, Node]]) -> tuple[tuple[str, str], ...]:
    """Pair the name of each stage with the digest of its graph and of those before it."""
    named = tuple(stages)
    nodes = toposort(*[root for _, root in named])
    numbers: dict[Node, int] = {}
    heads: dict[object, int] = {}
    found: list[tuple[str, str]] = []
    digest = sha256()
    for name, root in named:
        if root not in numbers:
            first = len(numbers)
            new = nodes[first : nodes.index(root, first) + 1]
            numbers.update(zip(new, range(first, len(nodes)), strict=False))
            digest.update(_digested(new, numbers, heads))
        here = digest.copy()
        here.update(_bytes([numbers[root]]))
        found.append((name, MARK + here.hexdigest()[:_HEX_DIGITS]))
    return tuple(found)


def _digested(nodes: list[Node], numbers: dict[Node, int], heads: dict[object, int]) -> bytes:
    """All that `nodes` are, as bytes: what they are apart from their operands gets a number too."""
    tape: list[int] = []
    texts: list[str] = []
    number_of, head_of = numbers.__getitem__, heads.get
    for node in nodes:
        attr = node.attr
        below = node.src
        key: object = (node.op, node.dtype, attr)
        if attr:
            below = operands(node)
            if node.op is _CONST:  # to Python 0.0, -0.0 and False are equal
                key = (node.op, node.dtype, repr(attr[0]), attr[1])
        head = head_of(key)
        if head is None:
            head = heads[key] = len(heads)
            texts.append(_head(node))
        tape.append(head)
        tape.append(len(below))
        tape.extend(map(number_of, below))
    return "".join(texts).encode() + _bytes(tape)


def _head(node: Node) -> str:
    """A node without its operands, on a line: no attribute holds a newline."""
    kinds = [kind for _, kind in FIELDS[node.op]]
    pairs = zip(node.attr, kinds, strict=True)
    attributes = [value.name if kind in _NAMED else _plain(value) for value, kind in pairs]
    return f"{_NAMES[node.op]} {node.dtype.name} {attributes!r}\n"


def _plain(value: object) -> object:
    """An attribute as values whose repr names no object; symbolic sizes count as operands."""
    if isinstance(value, Node):
        return "size"
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    names = getattr(value, "__match_args__", None)  # of a view, or a stack of views
    return value if names is None else [_plain(getattr(value, name)) for name in names]


def _bytes(numbers: list[int]) -> bytes:
    words = array("I", numbers)
    if sys.byteorder == "big":
        words.byteswap()
    return words.tobytes()
