"""A PROGRAM as statements of C, for languages like OpenCL C. To add one: its types and its own ops.

A value that is used once is written where it is used, unless a store, a barrier or the edge of a
block stands between: then a name keeps the order that the PROGRAM gives.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias
from weakref import proxy

from msgspec import Struct

from compiler.backends.describe import buffer_of
from compiler.backends.names import Names
from compiler.errors import BuildError
from compiler.ir import BOOL, ELEMENTWISE, DType, Node, Op, acc_of

_ACC, _LOOP = Op.ACC, Op.LOOP

MAX_INLINE = 96  # characters; longer values get a name
_EFFECTS = frozenset(
    (Op.WRITE, Op.BARRIER, Op.INIT, Op.SET, Op.RANGE, Op.END, Op.LOOP, Op.IF, Op.ENDIF)
)  # nothing moves over these
_REPEATED = frozenset((Op.MAX, Op.MIN, Op.RANGE))  # their text says an operand more than once


class Text(Struct, frozen=True, gc=False):  # thousands are made
    """An expression; an atom needs no parentheses as an operand."""

    text: str
    is_atom: bool = False

    def __str__(self) -> str:
        return self.text if self.is_atom else f"({self.text})"


class Texts(dict[Node, Text]):
    """The text of each value so far."""

    def __init__(self, function: "Function") -> None:
        super().__init__()
        self._function = proxy(function)  # no cycle: what is rendered is freed at once

    def __missing__(self, node: Node) -> Text:
        raise self._function.refuse(node, "is used before it has a value")


@dataclass(slots=True, weakref_slot=True)
class Function:
    """The statements of one function while they are written. Owned by one render call."""

    name: str
    program: Node
    dialect: "Dialect"
    parameters: Mapping[int | str, str]  # by Argument.key
    movable: frozenset[Node]
    names: Names = field(default_factory=Names)
    text: Texts = field(init=False)
    top: list[str] = field(default_factory=list)  # declarations before everything else
    lines: list[str] = field(default_factory=list)
    depth: int = 1

    def __post_init__(self) -> None:
        self.text = Texts(self)

    def refuse(self, node: Node, why: str) -> BuildError:
        message = f"{self.dialect.backend}: kernel {self.name}: {node!r}: {why}"
        return BuildError(message, kernel=self.name)

    def type(self, node: Node) -> str:
        found = self.type_name(node.dtype)
        if found is None:
            raise self.refuse(node, f"there is no type for {node.dtype}")
        return found

    @property
    def type_name(self) -> Callable[[DType], str | None]:
        return self.dialect.type_name

    def operand(self, node: Node) -> Text:
        return self.text[node]

    def vector(self, node: Node, lanes: str) -> str:
        """A vector of the type of `node`."""
        return self.dialect.vector_of(self.type(node), lanes)

    def say(self, statement: str) -> None:
        self.lines.append(f"{'  ' * self.depth}{statement}")

    def define(self, node: Node, text: Text) -> None:
        """Give a value its text, or a name where its text may not move to its only user."""
        if node not in self.movable or len(text.text) > MAX_INLINE:
            name = self.names.value(node.op)
            self.say(f"{self.type(node)} {name} = {text.text};")
            text = Text(name, is_atom=True)
        self.text[node] = text


Handler: TypeAlias = Callable[[Function, Node], None]


@dataclass(frozen=True, slots=True)
class CoreCall:
    """How one tensor core is spelled. `body` is given `a`, `b` and `c`, and ends by `return`."""

    body: tuple[str, ...]
    source: str  # where the spelling is documented
    extension: str | None = None
    attribute: str | None = None  # of the kernel


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a language adds to C."""

    backend: str
    language: str
    type_name: Callable[[DType], str | None]  # None where it has no such type
    literal: Callable[[DType, float], str]
    is_opaque: Callable[[DType], bool]  # moved and bitcast, but not computed with
    bits_as: Callable[[str, str], str]  # the bits of a value as another type
    vector_of: Callable[[str, str], str]  # a vector type of these lanes, or of one for all
    convert: Callable[[str, str], str]  # a vector as another type, lane by lane
    lanes: Callable[[Sequence[int]], str]  # what stands behind the dot of a vector
    either: str  # of two comparisons of vectors
    calls: Mapping[Op, str]  # math functions, of scalars and vectors
    cores: Mapping[str, CoreCall]  # by the names of compiler.ir.CORES
    scalars: Mapping[Op, Handler]  # STATEMENTS, SCALARS and what the language says otherwise
    vectors: Mapping[Op, Handler]  # every op that makes a vector


def write_body(
    program: Node, name: str, dialect: Dialect, parameters: Mapping[int | str, str]
) -> str:
    """The statements of `program`. Raises BuildError for what the language lacks."""
    function = Function(name, program, dialect, parameters, _movable(program))
    for parameter in parameters.values():
        function.names.unique(parameter)
    _refuse_opaque(function, program)
    scalars, vectors = dialect.scalars, dialect.vectors
    for node in program.src:
        handler = (scalars if node.dtype.count == 1 else vectors).get(node.op)
        if handler is None:
            raise function.refuse(node, f"{dialect.backend} has no such op")
        handler(function, node)
    return "\n".join([*function.top, *function.lines])


def _movable(program: Node) -> frozenset[Node]:
    """Values that may be written where they are used: once, with no effect in between."""
    movable: set[Node] = set()
    unused: dict[Node, int] = {}  # how many effects came before each value
    effects = 0
    move, stay, take = movable.add, movable.discard, unused.pop
    for node in program.src:
        op = node.op
        limit = None if op in _REPEATED else effects
        for child in () if op is _LOOP else node.src:  # its INITs and SETs have said all
            if take(child, -1) == limit:
                move(child)
            else:
                stay(child)
        unused[node] = effects
        if op in _EFFECTS:
            effects += 1
    return frozenset(movable)


_COMPUTING = ELEMENTWISE - {Op.BITCAST, Op.WHERE}


def _refuse_opaque(function: Function, program: Node) -> None:
    is_opaque = function.dialect.is_opaque
    opaque = [n for n in program.src if n.dtype.bits == 16 and is_opaque(n.dtype.scalar)]
    if not opaque:
        return
    moved = frozenset(opaque)
    for node in program.src:
        if node.op in _COMPUTING and (node in moved or node.src[0] in moved):
            name = (node if node in moved else node.src[0]).dtype.scalar
            raise function.refuse(node, f"{name} is only moved and bitcast, compute in float32")


# --- leaves and memory ---


def parameter(function: Function, node: Node) -> None:
    """An argument by its name."""
    name = function.parameters.get(node.attr[0])
    if name is None:
        raise function.refuse(node, "is not among the arguments")
    function.text[node] = Text(name, is_atom=True)


def _const(function: Function, node: Node) -> None:
    if node.attr[1] is not None:
        raise function.refuse(node, "a constant with a view has to be lowered first")
    function.type(node)
    function.text[node] = Text(function.dialect.literal(node.dtype, node.attr[0]), is_atom=True)


def alias(function: Function, node: Node) -> None:
    """A value that is another one, by its name."""
    function.text[node] = function.operand(node.src[0])


def _read(function: Function, node: Node) -> None:
    element = f"{function.operand(buffer_of(node.src[0]))}[{function.operand(node.src[1]).text}]"
    define_read(function, node, element)


def define_read(function: Function, node: Node, element: str) -> None:
    """A value from memory, 0 where its gate is false; a bool is a byte in memory."""
    text = Text(element, is_atom=True)
    if node.dtype.scalar is BOOL:
        text = Text(f"{element} != 0")
    if len(node.src) == 3:
        zero = function.dialect.literal(node.dtype.scalar, 0)
        if node.dtype.count > 1:
            zero = function.vector(node, zero)
        text = Text(f"{function.operand(node.src[2])} ? {text} : {zero}")
    function.define(node, text)


def say_write(function: Function, node: Node, statement: str) -> None:
    """A store, under its gate if it has one."""
    gate = f"if ({function.operand(node.src[3]).text}) " if len(node.src) == 4 else ""
    function.say(gate + statement)


# --- loops, accumulators, blocks ---


def _range(function: Function, node: Node) -> None:
    name = function.names.axis(node.attr[0])
    size = function.operand(node.src[0])
    function.say(f"for ({function.type(node)} {name} = 0; {name} < {size}; {name}++) {{")
    function.depth += 1
    function.text[node] = Text(name, is_atom=True)


def _close(function: Function, node: Node) -> None:
    function.depth -= 1
    function.say("}")


def _loop(function: Function, node: Node) -> None:
    for axis in node.src[: node.attr[0]]:
        _close(function, axis)


def result(function: Function, node: Node) -> None:
    """What an accumulator holds after its loop, by its name."""
    function.text[node] = function.operand(acc_of(node))


def call(function: Function, node: Node) -> None:
    """A function of the language, over scalars or vectors."""
    operands = ", ".join([function.operand(child).text for child in node.src])
    function.define(node, Text(f"{function.dialect.calls[node.op]}({operands})", is_atom=True))


def _if(function: Function, node: Node) -> None:
    function.say(f"if ({function.operand(node.src[0]).text}) {{")
    function.depth += 1


def _init(function: Function, node: Node) -> None:
    acc = node.src[0]
    if acc in function.text:  # a second INIT starts it anew
        _set(function, node)
        return
    name = function.names.value(_ACC)
    function.say(f"{function.type(acc)} {name} = {function.operand(node.src[1]).text};")
    function.text[acc] = Text(name, is_atom=True)


def _set(function: Function, node: Node) -> None:
    function.say(f"{function.operand(node.src[0])} = {function.operand(node.src[1]).text};")


STATEMENTS: Mapping[Op, Handler] = {
    Op.BUFFER: parameter,
    Op.VAR: parameter,
    Op.CONST: _const,
    Op.AFTER: alias,
    Op.READ: _read,
    Op.ACC: lambda function, node: None,  # named by its INIT
    Op.INIT: _init,
    Op.SET: _set,
    Op.RESULT: result,
    Op.RANGE: _range,
    Op.END: _close,
    Op.LOOP: _loop,
    Op.IF: _if,
    Op.ENDIF: _close,
}
