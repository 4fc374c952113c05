"""The text of an AST with other constants, variables and axes, and else as it was.

The lines of a text are its nodes in order, and stay where they are: what is replaced is replaced
by something else of its kind, and different things by different ones.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from compiler.ir import (
    COMPARISONS,
    ELEMENTWISE,
    DType,
    Node,
    Number,
    Op,
    attr_nodes,
    print_node,
    toposort,
)
from replay.share.constants import replaced

_FIELD = {name: re.compile(rf"(?<= {name}=)\S+") for name in ("value", "name", "axes")}
_POSITIONS = frozenset((Op.INDEX, Op.VAR))


def axis_names(ast: Node) -> Mapping[str, str]:
    """What each axis is called where nobody has named it: by what it is, and its place."""
    reduced = {name for node in toposort(ast) if node.op is Op.REDUCE for name in node.attr[1]}
    counts = {"g": 0, "r": 0}
    found: dict[str, str] = {}
    for name, _ in ast.attr[0]:
        kind = "r" if name in reduced else "g"
        found[name] = f"{kind}{counts[kind]}"
        counts[kind] += 1
    return found


def without_names(ast: Node, variables: Mapping[str, str]) -> str:
    """The text of a kernel's AST, which has been verified, without what its author chose freely."""
    axes, constants = axis_names(ast), _constants(ast)
    header, *lines = print_node(ast).splitlines()
    order = toposort(ast)
    new = [
        _line(line, node, variables, axes, constants)
        for line, node in zip(lines, order, strict=True)
    ]
    return "\n".join([header, *new, ""])


def _line(
    line: str,
    node: Node,
    variables: Mapping[str, str],
    axes: Mapping[str, str],
    constants: Mapping[Node, Number],
) -> str:
    match node.op:
        case Op.CONST if node in constants:
            value = constants[node]
            text = value.hex() if isinstance(value, float) else str(value)
            return _with_field(line, "value", text)
        case Op.VAR:
            return _with_field(line, "name", variables[node.attr[0]])
        case Op.REDUCE:
            return _with_field(line, "axes", f"({','.join(axes[each] for each in node.attr[1])})")
        case Op.SINK:
            named = _FIELD["axes"].search(line)
            assert named is not None, "a SINK has axes"
            sizes = [pair.partition(":") for pair in named[0].strip("()").split(",")]
            pairs = [f"{axes[name]}:{size}" for name, _, size in sizes if name]
            return _with_field(line, "axes", f"({','.join(pairs)})")
        case _:
            return line


def _with_field(line: str, field: str, text: str) -> str:
    return _FIELD[field].sub(lambda _: text, line, count=1)


def _constants(ast: Node) -> Mapping[Node, Number]:
    """The constants that are replaced, each with its new value."""
    order = toposort(ast)
    positions = _positions(order)
    by_dtype: defaultdict[DType, list[Node]] = defaultdict(list)
    kept: defaultdict[DType, list[Number]] = defaultdict(list)
    for node in order:
        if node.op is not Op.CONST or node.dtype.name == "bool":
            continue
        value = node.attr[0]
        if node in positions:
            kept[node.dtype].append(value)
        elif value != 0 and not math.isnan(value):
            by_dtype[node.dtype].append(node)
    found: dict[Node, Number] = {}
    for dtype, nodes in by_dtype.items():
        new = replaced(dtype, [node.attr[0] for node in nodes], kept[dtype])
        found.update({node: new[node.attr[0]] for node in nodes})
    return found


def _positions(order: list[Node]) -> set[Node]:
    """The nodes that decide where something is read, or how much: offsets, sizes, and what an index
    is compared with. Other integers would leave the buffers, or make other loops."""
    wanted: set[Node] = set()
    for node in order:
        for size in attr_nodes(node):
            wanted.update(_computed_from(size))
        if node.op is Op.GATHER:
            wanted.update(_computed_from(node.src[1]))
        elif node.op in COMPARISONS:
            sides = [list(_computed_from(source)) for source in node.src]
            if any(each.op in _POSITIONS for side in sides for each in side):
                wanted.update(each for side in sides for each in side)
    return wanted


def _computed_from(root: Node) -> Iterator[Node]:
    """`root` and the integers that it is computed from, without what is read or reduced."""
    seen: set[Node] = set()
    left = [root]
    while left:
        node = left.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        if node.op in ELEMENTWISE and not node.dtype.is_float:
            left.extend(node.src)
