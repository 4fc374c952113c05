"""The exact text form of the IR: `parse_node(print_node(x)) is x`. The grammar is in docs/ir.md."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeVar

from compiler.errors import DTypeError, ParseError
from compiler.ir.dtype import DType, Kind, parse_dtype
from compiler.ir.node import Attr, Node, Number, Size, intern
from compiler.ir.op import FIELDS, AxisKind, Field, Op
from compiler.ir.view import View
from compiler.ir.viewstack import ViewStack
from compiler.ir.walk import toposort

HEADER = "ir 1"
MAX_LINES = 1_000_000
_LONG = 400  # fields that are not kept: a text may be hostile
_LINE = re.compile(r"%(\d+) = ([A-Z0-9]+) ([a-z0-9]+)((?: %\d+)*)((?: [a-z]+=[^ ]+)*)")
_T = TypeVar("_T")
_INTEGER = re.compile(r"-?\d{1,40}")
_REFERENCE = re.compile(r"%\d+")
_NAME = re.compile(r"[A-Za-z0-9_.#-]+")
_NAMES = {op: op.name for op in Op}
_OPS = {op.name: op for op in Op}
_KINDS = {kind.name: kind for kind in AxisKind}


@lru_cache(maxsize=4)  # who is told of a compile prints its AST, and then the kernel is named by it
def print_node(root: Node) -> str:
    """The text of the graph under `root`, one definition a line."""
    order = toposort(root)
    number = {node: index for index, node in enumerate(order)}
    return "\n".join([HEADER, *(_print_line(node, number) for node in order)]) + "\n"


def _print_line(node: Node, number: Mapping[Node, int]) -> str:
    sources = "".join([f" %{number[child]}" for child in node.src])
    pairs = zip(FIELDS[node.op], node.attr, strict=True)
    fields = "".join([f" {name}={_PRINTERS[kind](value, number)}" for (name, kind), value in pairs])
    return f"%{number[node]} = {_NAMES[node.op]} {node.dtype.name}{sources}{fields}"


def _print_value(value: Number, number: Mapping[Node, int]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else value.hex()


def _print_size(size: Size, number: Mapping[Node, int]) -> str:
    return f"%{number[size]}" if isinstance(size, Node) else str(size)


def _print_views(stack: ViewStack | None, number: Mapping[Node, int]) -> str:
    return (
        "none"
        if stack is None
        else "[" + "|".join([_print_view(view, number) for view in stack.views]) + "]"
    )


def _print_view(view: View, number: Mapping[Node, int]) -> str:
    shape = ",".join([_print_size(size, number) for size in view.shape])
    strides = ",".join([_print_size(stride, number) for stride in view.strides])
    offset = "" if view.offset == 0 else f"+{_print_size(view.offset, number)}"
    if view.mask is None:
        return f"({shape}):({strides}){offset}"
    mask = ",".join(
        [f"{_print_size(low, number)}:{_print_size(high, number)}" for low, high in view.mask]
    )
    return f"({shape}):({strides}){offset}?({mask})"


def _print_axes(axes: tuple[tuple[str, Size], ...], number: Mapping[Node, int]) -> str:
    return "(" + ",".join([f"{name}:{_print_size(size, number)}" for name, size in axes]) + ")"


_PRINTERS: dict[Field, Callable[[Attr, Mapping[Node, int]], str]] = {
    Field.INT: _print_value,
    Field.INTS: lambda value, number: "(" + ",".join(map(str, value)) + ")",
    Field.VALUE: _print_value,
    Field.NAME: lambda value, number: str(value),
    Field.NAMES: lambda value, number: "(" + ",".join(value) + ")",
    Field.SIZE: _print_size,
    Field.VIEWS: _print_views,
    Field.AXES: _print_axes,
    Field.OP: lambda value, number: str(value.name),
    Field.KIND: lambda value, number: str(value.name),
}


def parse_node(text: str) -> Node:
    """The root node of `text`, never folded. A ParseError names the line and what is wrong."""
    if not isinstance(text, str):
        raise ParseError(f"text is {type(text).__name__}: use a str")
    lines = text.split("\n")
    if lines[0] != HEADER:
        raise ParseError(
            f"line 1: starts with {lines[0][:40]!r}, this grammar starts with {HEADER!r}"
        )
    if lines[-1] != "" or len(lines) < 3:
        raise ParseError(
            f"line {len(lines)}: the text is cut off, it ends with a whole line and a newline"
        )
    if len(lines) > MAX_LINES:
        raise ParseError(f"text: {len(lines)} lines, the limit is {MAX_LINES}")
    nodes: list[Node] = []
    for index, line in enumerate(lines[1:-1]):
        try:
            nodes.append(_parse_line(line, index, nodes))
        except (ParseError, DTypeError) as error:
            raise ParseError(f"line {index + 2}: {error}") from None
    if print_node(nodes[-1]) != text:  # unused lines, other numbering, other spelling
        raise ParseError("text: is not in canonical form, print the node again with print_node")
    return nodes[-1]


def _parse_line(line: str, index: int, nodes: list[Node]) -> Node:
    match = _LINE.fullmatch(line)
    if match is None:
        raise ParseError(f"{line[:60]!r} is not '%N = OP DTYPE %SRC... FIELD=VALUE...'")
    number, op_name, dtype_name, sources, fields = match.groups()
    if number != str(index):
        raise ParseError(f"defines %{number[:20]}, the next definition is %{index}")
    if op_name not in _OPS:
        raise ParseError(f"op {op_name} is unknown, docs/ir.md lists the ops of this version")
    op, dtype = _OPS[op_name], parse_dtype(dtype_name)
    src = tuple([_reference(word[1:], nodes) for word in sources.split()])
    if "%" in fields or len(fields) > _LONG:
        return intern(op, dtype, src, _parse_fields(op, dtype, fields, nodes))
    return intern(op, dtype, src, _parse_plain_fields(op, dtype, fields))


@lru_cache(maxsize=4096)
def _parse_plain_fields(op: Op, dtype: DType, fields: str) -> tuple[Attr, ...]:
    """The same for fields without symbolic sizes, which kernels share: buffers, views, numbers."""
    return _parse_fields(op, dtype, fields, [])


def _parse_fields(op: Op, dtype: DType, fields: str, nodes: list[Node]) -> tuple[Attr, ...]:
    words = [word.partition("=") for word in fields.split()]
    expected = FIELDS[op]
    if [name for name, _, _ in words] != [name for name, _ in expected]:
        wanted = " ".join(name for name, _ in expected) or "none"
        raise ParseError(
            f"{op.name} has fields {' '.join(n for n, _, _ in words) or 'none'}, expected {wanted}"
        )
    return tuple(
        [
            _parse(kind, word, dtype, nodes)
            for (_, kind), (_, _, word) in zip(expected, words, strict=True)
        ]
    )


def _reference(digits: str, nodes: list[Node]) -> Node:
    if len(digits) > 7 or int(digits) >= len(nodes):
        raise ParseError(f"%{digits[:20]} is used before its definition")
    return nodes[int(digits)]


def _parse(kind: Field, word: str, dtype: DType, nodes: list[Node]) -> Attr:
    if kind is Field.VALUE:
        return _parse_value(word, dtype)
    return _PARSERS[kind](word, nodes)


def _lookup(word: str, table: Mapping[str, _T], what: str) -> _T:
    if word not in table:
        raise ParseError(f"{what} {word[:40]} is unknown")
    return table[word]


def _parse_value(word: str, dtype: DType) -> int | float | bool:
    if dtype.kind is Kind.BOOL:
        if word not in ("true", "false"):
            raise ParseError(f"bool {word[:40]!r} is neither true nor false")
        return word == "true"
    if dtype.kind is not Kind.FLOAT:
        return _parse_int(word)
    try:
        return float.fromhex(word)
    except (ValueError, OverflowError):
        raise ParseError(f"float {word[:40]!r} is not hexadecimal, inf or nan") from None


def _parse_int(word: str) -> int:
    if not _INTEGER.fullmatch(word):
        raise ParseError(f"integer expected, found {word[:40]!r}")
    return int(word)


def _parse_size(word: str, nodes: list[Node]) -> Size:
    return _reference(word[1:], nodes) if _REFERENCE.fullmatch(word) else _parse_int(word)


def _parse_name(word: str) -> str:
    if not _NAME.fullmatch(word):
        raise ParseError(f"name {word[:40]!r} has characters outside A-Z a-z 0-9 _ . # -")
    return word


def _inside(word: str, opening: str, closing: str) -> str:
    if not (word.startswith(opening) and word.endswith(closing)):
        raise ParseError(f"{word[:60]!r} is not enclosed in {opening} {closing}")
    return word[1:-1]


def _split(text: str) -> list[str]:
    return text.split(",") if text else []


_VIEW = re.compile(r"\(([^()]*)\):\(([^()]*)\)(?:\+([^()?]+))?(?:\?\(([^()]*)\))?")


def _parse_views(word: str, nodes: list[Node]) -> ViewStack:
    return ViewStack(
        tuple([_parse_view(view, nodes) for view in _inside(word, "[", "]").split("|")])
    )


def _parse_view(word: str, nodes: list[Node]) -> View:
    match = _VIEW.fullmatch(word)
    if match is None:
        raise ParseError(f"{word[:60]!r} is not a view (SIZES):(STRIDES)+OFFSET?(LO:HI)")
    shape, strides, offset, mask = match.groups()
    sizes = tuple([_parse_size(size, nodes) for size in _split(shape)])
    steps = tuple([_parse_size(stride, nodes) for stride in _split(strides)])
    bounds = None
    if mask is not None:
        pairs = [pair.partition(":") for pair in _split(mask)]
        bounds = tuple(
            [(_parse_size(low, nodes), _parse_size(high, nodes)) for low, _, high in pairs]
        )
    if len(steps) != len(sizes) or (bounds is not None and len(bounds) != len(sizes)):
        raise ParseError(f"view {word[:60]!r}: shape, strides and mask differ in rank")
    return View(sizes, steps, 0 if offset is None else _parse_size(offset, nodes), bounds)


def _parse_axes(word: str, nodes: list[Node]) -> tuple[tuple[str, Size], ...]:
    pairs = [pair.partition(":") for pair in _split(_inside(word, "(", ")"))]
    return tuple([(_parse_name(name), _parse_size(size, nodes)) for name, _, size in pairs])


def _parse_names(word: str, nodes: list[Node]) -> tuple[str, ...]:
    return tuple([_parse_name(name) for name in _split(_inside(word, "(", ")"))])


_PARSERS: dict[Field, Callable[[str, list[Node]], Attr]] = {
    Field.INT: lambda word, nodes: _parse_int(word),
    Field.INTS: lambda word, nodes: tuple(map(_parse_int, _split(_inside(word, "(", ")")))),
    Field.NAME: lambda word, nodes: _parse_name(word),
    Field.NAMES: _parse_names,
    Field.SIZE: _parse_size,
    Field.VIEWS: lambda word, nodes: None if word == "none" else _parse_views(word, nodes),
    Field.AXES: _parse_axes,
    Field.OP: lambda word, nodes: _lookup(word, _OPS, "op"),
    Field.KIND: lambda word, nodes: _lookup(word, _KINDS, "axis kind"),
}
