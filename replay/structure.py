"""Digests of the stages of a compile, cheap enough to be made for every kernel that is captured.

Nodes are numbered as they first appear, stage after stage; one that several stages share is looked
at once, and no text is made of it. A digest covers its stage and all before it: the first that
differs is where two compiles parted. It depends on the graphs alone.
"""

import sys
from array import array
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import lru_cache
from hashlib import sha256
from itertools import chain, filterfalse, islice

from compiler.ir import DType, Node, Op, attr_nodes, toposort

MARK = "s"  # as replay/capture/records.py knows them

_HEX_DIGITS = 15
_CONST, _INIT, _PROGRAM = Op.CONST, Op.INIT, Op.PROGRAM
_NAMES = {op: op.name for op in Op}
_SCALARS = frozenset((int, str, type(None)))

_Head = tuple[Op, DType, tuple[object, ...]]
"""What a node is apart from its operands; of a CONST, apart from its value too."""


def stage_digests(stages: Iterable[tuple[str, Node]]) -> tuple[tuple[str, str], ...]:
    """Pair the name of each stage with the digest of its graph and of those before it."""
    numbers: dict[Node, int] = {}
    heads: dict[_Head, int] = {}
    found: list[tuple[str, str]] = []
    digest = sha256()
    for name, root in stages:
        if root not in numbers:
            new = list(filterfalse(numbers.__contains__, order_of(root)))
            numbers.update(zip(new, range(len(numbers), len(numbers) + len(new)), strict=True))
            digest.update(_digested(new, numbers, heads))
        here = digest.copy()
        here.update(_bytes([numbers[root]]))
        found.append((name, MARK + here.hexdigest()[:_HEX_DIGITS]))
    return tuple(found)


def order_of(root: Node) -> Sequence[Node]:
    """`toposort(root)`; of a PROGRAM, whose instructions are in order, without a walk."""
    if root.op is not _PROGRAM:
        return toposort(root)
    order: dict[Node, None] = {}
    for node in root.src:
        if node.op is _INIT:
            order[node.src[0]] = None  # an accumulator, which is no instruction
        order[node] = None
    order[root] = None
    return tuple(order)


def _digested(nodes: list[Node], numbers: dict[Node, int], heads: dict[_Head, int]) -> bytes:
    """All that `nodes` are, as bytes: what they are apart from their operands gets a number too."""
    known = len(heads)
    tape = [heads.setdefault((node.op, node.dtype, node.attr), len(heads)) for node in nodes]
    texts = [_head(*head) for head in islice(heads, known, None)]
    constants = [repr(node.attr[0]) for node in nodes if node.op is _CONST]  # -0.0 == 0.0 == False
    sources = [node.src for node in nodes]
    sizes = [size for node in nodes if node.below is not node.src for size in attr_nodes(node)]
    tape += map(len, sources)
    tape += map(numbers.__getitem__, chain(chain.from_iterable(sources), sizes))
    return "".join([*texts, *constants]).encode() + _bytes([len(nodes), len(sizes), *tape])


@lru_cache(maxsize=4096)  # kernels have three of four heads in common
def _head(op: Op, dtype: DType, attr: tuple[object, ...]) -> str:
    """A node without its operands, on a line: no attribute holds a newline."""
    if op is _CONST:
        attr = attr[1:]  # its value is told apart for each node
    plain = [value if type(value) in _SCALARS else _plain(value) for value in attr]
    return f"{_NAMES[op]} {dtype.name} {plain}\n"


def _plain(value: object) -> object:
    """An attribute as values whose repr names no object; symbolic sizes count as operands."""
    if isinstance(value, Node):
        return "size"
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    names = getattr(type(value), "__match_args__", None)  # of a view, or a stack of views
    return value if names is None else [_plain(getattr(value, name)) for name in names]


def _bytes(numbers: list[int]) -> bytes:
    words = array("I", numbers)
    if sys.byteorder == "big":
        words.byteswap()
    return words.tobytes()
