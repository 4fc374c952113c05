"""Digests of the stages of a compile, cheap enough to be made for every kernel that is captured.

Nodes are numbered as they first appear, stage after stage; one that several stages share is looked
at once, and no text is made of it. A digest covers its stage and all before it: the first that
differs is where two compiles parted. It depends on the graphs alone.
"""

import sys
from array import array
from collections.abc import Iterable
from enum import Enum
from hashlib import sha256
from itertools import chain
from operator import attrgetter

from compiler.ir import Node, Op, operands, toposort

MARK = "s"  # as replay/records.py knows them

_HEX_DIGITS = 15
_CONST = Op.CONST
_NAMES = {op: op.name for op in Op}
_SCALARS = frozenset((int, str, type(None)))
_key = attrgetter("op", "dtype", "attr")
_source = attrgetter("src")


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
    """All that `nodes` are, as bytes: what they are apart from their operands gets a number too.

    Loops that run inside of Python's own functions: there are thousands of nodes in a kernel.
    """
    keys = list(map(_key, nodes))
    texts: list[str] = []
    for key, node in dict(zip(keys, nodes, strict=True)).items():
        if key not in heads:
            heads[key] = len(heads)
            texts.append(_head(node))
    constants = [repr(node.attr[0]) for node in nodes if node.op is _CONST]  # -0.0 == 0.0 == False
    sources = list(map(_source, nodes))
    sizes = [size for node in nodes if node.attr for size in operands(node)[len(node.src) :]]
    tape = [
        *map(heads.__getitem__, keys),
        *map(len, sources),
        *map(numbers.__getitem__, chain.from_iterable(sources)),
        *map(numbers.__getitem__, sizes),
    ]
    return "".join([*texts, *constants]).encode() + _bytes([len(nodes), len(sizes), *tape])


def _head(node: Node) -> str:
    """A node without its operands, on a line: no attribute holds a newline."""
    attr = node.attr
    if node.op is _CONST:
        attr = attr[1:]  # its value is told apart for each node
    plain = [value if type(value) in _SCALARS else _plain(value) for value in attr]
    return f"{_NAMES[node.op]} {node.dtype.name} {plain}\n"


def _plain(value: object) -> object:
    """An attribute as values whose repr names no object; symbolic sizes count as operands."""
    if isinstance(value, Node):
        return "size"
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    names = getattr(value, "__match_args__", None)  # of a view, or a stack of views
    return value if names is None else [_plain(getattr(value, name)) for name in names]


def _bytes(numbers: list[int]) -> bytes:
    words = array("I", numbers)
    if sys.byteorder == "big":
        words.byteswap()
    return words.tobytes()
