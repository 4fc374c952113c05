"""The text of one LLVM function while it is written."""

from weakref import proxy

from compiler.backends.llvm.types import type_text
from compiler.backends.names import PREFIXES, Names
from compiler.errors import BuildError
from compiler.ir import Node, Op

_ACC = Op.ACC


class Texts(dict[Node, str]):
    """The operand text of each instruction rendered so far; an accumulator is read at each use."""

    def __init__(self, function: "Function") -> None:
        super().__init__()
        self._function = proxy(function)  # no cycle: what is rendered is freed at once

    def __missing__(self, node: Node) -> str:
        text: str = self._function.load_acc(node)
        return text


class Function:
    """The text of one function while it is written. Owned by one render call."""

    def __init__(self, name: str, outermost: Node | None) -> None:
        self.name = name
        self.outermost = outermost
        self.lines: list[str] = []
        self.slots: list[str] = []  # allocas: all in the entry block
        self.freed: list[str] = []  # what gives local memory back, before the return
        self.declared: dict[str, None] = {}
        self.parameters: dict[int | str, str] = {}  # by Argument.key
        self.streamed: frozenset[int | str] = frozenset()  # keys of results that pass the caches
        self.has_streams = False
        self.text = Texts(self)
        self.slot_of: dict[Node, str] = {}
        self.names = Names()
        self.block = "entry"

    def refuse(self, node: Node, why: str) -> BuildError:
        return BuildError(f"llvm: kernel {self.name}: {node!r}: {why}", kernel=self.name)

    def load_acc(self, acc: Node) -> str:
        if acc not in self.slot_of:
            raise self.refuse(acc, "is read before its INIT")
        value = f"%{self.names.value(_ACC)}"
        self.lines.append(f"  {value} = load {type_text(acc.dtype)}, ptr {self.slot_of[acc]}")
        return value

    def assign(self, node: Node, instruction: str) -> None:
        """Give the result of `instruction` to `node`."""
        self.text[node] = value = f"%{self.names.numbered(PREFIXES[node.op])}"
        self.lines.append(f"  {value} = {instruction}")

    def step(self, prefix: str, instruction: str) -> str:
        """An intermediate result that belongs to no node."""
        value = f"%{self.names.numbered(prefix)}"
        self.lines.append(f"  {value} = {instruction}")
        return value

    def open_block(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.block = label
