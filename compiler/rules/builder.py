"""The constructor of simplified nodes; one per compile, so its count is the compile's alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compiler.errors import RewriteError
from compiler.ir import BOOL, Attr, DType, Kind, Node, Number, Op, const, intern, toposort

MAX_DEPTH = 120  # nested applications that one new node may cause; a looping rule gets there
_FLOAT = Kind.FLOAT
_CONSTANTS = frozenset((Op.CONST, Op.SPLAT))  # a SPLAT may be one


@dataclass(frozen=True, slots=True)
class Rule:
    """A law: a node with one of `ops` is replaced by what `apply` returns, if not None.

    The last two say for which nodes `apply` returns None anyway, and need not be called.
    """

    name: str
    ops: tuple[Op, ...]
    apply: "Callable[[Builder, Node], Node | None]"
    constant: bool = False  # only where a source is a constant
    exact: bool = False  # only where the first source is no float


Rules = tuple[Rule, ...]
RulesByOp = Mapping[Op, tuple[Rules, Rules, Rules, Rules]]  # by op, then by `_case`


@dataclass(frozen=True, slots=True)
class Application:
    """One entry of a trace: `rule` turned `before` into `after`."""

    rule: str
    before: Node
    after: Node


def index_by_op(rules: Sequence[Rule]) -> RulesByOp:
    """The rules of each op, in order, for each case of its sources."""
    table: dict[Op, Rules] = {}
    for rule in rules:
        for op in rule.ops:
            table[op] = (*table.get(op, ()), rule)
    return {
        op: (
            tuple([rule for rule in found if not rule.constant]),
            tuple([rule for rule in found if not rule.constant and not rule.exact]),
            found,
            tuple([rule for rule in found if not rule.exact]),
        )
        for op, found in table.items()
    }


def _case(node: Node) -> int:
    """1 for floats, plus 2 where a source may be a constant."""
    src = node.src
    case = 1 if src[0].dtype.kind is _FLOAT else 0
    for child in src:
        if child.op in _CONSTANTS:
            return case + 2
    return case


class Builder:
    """Builds nodes and folds them by `rules`; owned by one compile (not shared between threads).

    `limit` stops after that many applications; `trace` collects them.
    """

    __slots__ = ("_depth", "_limit", "_memo", "_rules", "_trace", "rewrites")

    def __init__(
        self, rules: RulesByOp, limit: int | None = None, trace: list[Application] | None = None
    ) -> None:
        self.rewrites = 0
        self._rules = rules
        self._limit = limit
        self._trace = trace
        self._memo: dict[Node, Node] = {}
        self._depth = 0

    def build(
        self, op: Op, dtype: DType, src: tuple[Node, ...] = (), attr: tuple[Attr, ...] = ()
    ) -> Node:
        """The node (op, dtype, src, attr), folded. The sources are taken to be folded already."""
        node = intern(op, dtype, src, attr)
        cases = self._rules.get(op)
        if cases is None:
            return node
        found = self._memo.get(node)
        if found is None:
            rules = cases[_case(node)]
            found = self._memo[node] = self._fold(node, rules) if rules else node
        return found

    def _fold(self, node: Node, rules: Rules) -> Node:
        if self._limit is not None and self.rewrites >= self._limit:
            return node
        self._depth += 1
        for rule in rules:
            if self._depth > MAX_DEPTH:
                raise RewriteError(
                    f"rule {rule.name}: does not come to an end on {node!r}, "
                    f"{MAX_DEPTH} nested applications; make its result smaller"
                )
            after = rule.apply(self, node)
            if after is not None and after is not node:
                self._depth -= 1
                self.rewrites += 1
                if self._trace is not None:
                    self._trace.append(Application(rule.name, node, after))
                return after
        self._depth -= 1
        return node

    def rebuild(self, root: Node, mapping: Mapping[Node, Node]) -> Node:
        """`root` with nodes replaced by `mapping` and everything above them folded again."""
        done: dict[Node, Node] = dict(mapping)
        for node in toposort(root):
            if node not in done:
                src = tuple([done[child] for child in node.src])
                same = src == node.src
                done[node] = node if same else self.build(node.op, node.dtype, src, node.attr)
        return done[root]

    # one method per op that passes write often; an int or float operand takes the other's dtype

    def const(self, dtype: DType, value: Number) -> Node:
        return const(dtype, value)

    def unary(self, op: Op, a: Node) -> Node:
        return self.build(op, a.dtype, (a,))

    def binary(self, op: Op, a: "Node | float", b: "Node | float") -> Node:
        x, y = _pair(a, b)
        return self.build(op, x.dtype, (x, y))

    def compare(self, op: Op, a: "Node | float", b: "Node | float") -> Node:
        x, y = _pair(a, b)
        return self.build(op, BOOL.vec(x.dtype.count), (x, y))

    def add(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(Op.ADD, a, b)

    def sub(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(Op.SUB, a, b)

    def mul(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(Op.MUL, a, b)

    def fdiv(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(Op.FDIV, a, b)

    def idiv(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(Op.IDIV, a, b)

    def mod(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(Op.MOD, a, b)

    def max_(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(Op.MAX, a, b)

    def min_(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(Op.MIN, a, b)

    def and_(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(Op.AND, a, b)

    def or_(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(Op.OR, a, b)

    def xor(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(Op.XOR, a, b)

    def shl(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(Op.SHL, a, b)

    def shr(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(Op.SHR, a, b)

    def lt(self, a: "Node | float", b: "Node | float") -> Node:
        return self.compare(Op.LT, a, b)

    def le(self, a: "Node | float", b: "Node | float") -> Node:
        return self.compare(Op.LE, a, b)

    def eq(self, a: "Node | float", b: "Node | float") -> Node:
        return self.compare(Op.EQ, a, b)

    def ne(self, a: "Node | float", b: "Node | float") -> Node:
        return self.compare(Op.NE, a, b)

    def not_(self, a: Node) -> Node:
        return self.unary(Op.NOT, a)

    def neg(self, a: Node) -> Node:
        return self.unary(Op.NEG, a)

    def where(self, condition: Node, a: "Node | float", b: "Node | float") -> Node:
        x, y = _pair(a, b)
        return self.build(Op.WHERE, x.dtype, (condition, x, y))

    def cast(self, a: Node, dtype: DType) -> Node:
        """`a` converted to the scalar type of `dtype`, lane by lane."""
        return self.build(Op.CAST, dtype.vec(a.dtype.count), (a,))

    def bitcast(self, a: Node, dtype: DType) -> Node:
        return self.build(Op.BITCAST, dtype.vec(a.dtype.count), (a,))


def _pair(a: "Node | float", b: "Node | float") -> tuple[Node, Node]:
    if isinstance(a, Node):
        return a, b if isinstance(b, Node) else const(a.dtype, b)
    assert isinstance(b, Node), "one operand is a node"
    return const(b.dtype, a), b
