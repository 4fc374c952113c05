"""The constructor of simplified nodes; one per compile, so its count is the compile's alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from compiler.errors import RewriteError
from compiler.ir import BOOL, Attr, DType, Node, Number, Op, const, intern, toposort

MAX_DEPTH = 120  # nested applications that one new node may cause; a looping rule gets there
_CONST, _SPLAT = Op.CONST, Op.SPLAT
# an attribute of an Enum class takes ten times as long to look up as a global
_ADD, _SUB, _MUL, _FDIV, _IDIV, _MOD = Op.ADD, Op.SUB, Op.MUL, Op.FDIV, Op.IDIV, Op.MOD
_MAX, _MIN, _AND, _OR, _XOR, _SHL, _SHR = (
    *(Op.MAX, Op.MIN, Op.AND, Op.OR, Op.XOR),
    *(Op.SHL, Op.SHR),
)
_LT, _LE, _EQ, _NE, _NOT, _NEG = Op.LT, Op.LE, Op.EQ, Op.NE, Op.NOT, Op.NEG
_WHERE, _CAST, _BITCAST = Op.WHERE, Op.CAST, Op.BITCAST


class Constants(Enum):
    """Which sources must be constants for a rule to have anything to do."""

    ANY = "any or none"
    FIRST = "the first and not the last"
    LAST = "the last"
    NOT_LAST = "not the last"
    ALL = "the first and the last"

    def admits(self, *, first: bool, last: bool) -> bool:
        """Whether the rule is to be called for such sources."""
        match self:
            case Constants.ANY:
                return True
            case Constants.FIRST:
                return first and not last
            case Constants.LAST:
                return last
            case Constants.NOT_LAST:
                return not last
            case Constants.ALL:
                return first and last


@dataclass(frozen=True, slots=True)
class Rule:
    """A law: a node with one of `ops` is replaced by what `apply` returns, if not None.

    The last three say for which nodes `apply` returns None anyway, and need not be called.
    """

    name: str
    ops: tuple[Op, ...]
    apply: "Callable[[Builder, Node], Node | None]"
    constants: Constants = Constants.ANY
    exact: bool = False  # only where the first source is no float
    first: tuple[Op, ...] = ()  # if any, only where the first source has one of these ops


Rules = tuple[Rule, ...]
# The rules of an op by case: 1 for floats, plus 2 and 4 where the first and the last source are
# constants; then by the op of the first source, where some rule wants one; else those that do not.
_Case = tuple[Mapping[Op, Rules], Rules]
RulesByOp = Mapping[Op, tuple[_Case, ...]]


@dataclass(frozen=True, slots=True)
class Application:
    """One entry of a trace: `rule` turned `before` into `after`."""

    rule: str
    before: Node
    after: Node


def index_by_op(rules: Sequence[Rule]) -> RulesByOp:
    """The rules of each op, in order, for each case of its sources."""
    table: dict[Op, list[Rule]] = {}
    for rule in rules:
        for op in rule.ops:
            table.setdefault(op, []).append(rule)
    return {op: tuple([_case(found, case) for case in range(8)]) for op, found in table.items()}


def _case(rules: Sequence[Rule], case: int) -> _Case:
    called = [rule for rule in rules if _is_for(rule, case)]
    wanted = dict.fromkeys([op for rule in called for op in rule.first])
    by_first = {op: tuple([r for r in called if not r.first or op in r.first]) for op in wanted}
    return by_first, tuple([rule for rule in called if not rule.first])


def _is_for(rule: Rule, case: int) -> bool:
    if rule.exact and case & 1:
        return False
    return rule.constants.admits(first=bool(case & 2), last=bool(case & 4))


_CONSTANTS = frozenset((Op.CONST, Op.SPLAT))


def _is_constant(node: Node) -> bool:
    """Whether a CONST or SPLAT is a number."""
    if node.op is _SPLAT:
        node = node.src[0]
    return node.op is _CONST and node.attr[1] is None


class Builder:
    """Builds nodes and folds them by `rules`; owned by one compile (not shared between threads).

    `trace` collects the applications, those that a result is made of before the one that returns
    it. After `limit` of them no rule is applied: every prefix of a trace can be had.
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
        if found is not None:
            return found
        first, last = src[0], src[-1]
        kind = first.op
        case = 1 if first.dtype.is_float else 0
        if kind in _CONSTANTS and _is_constant(first):
            case += 2
        if last.op in _CONSTANTS and _is_constant(last):
            case += 4
        by_first, rules = cases[case]
        if kind in by_first:
            rules = by_first[kind]
        if rules:
            self._memo[node] = node = self._fold(node, rules)
        return node

    def _fold(self, node: Node, rules: Rules) -> Node:
        if self._limit is not None and self.rewrites >= self._limit:
            return node
        if self._depth >= MAX_DEPTH:
            raise RewriteError(
                f"rule {rules[0].name}: does not come to an end on {node!r}, "
                f"{MAX_DEPTH} nested applications; make its result smaller"
            )
        self._depth += 1
        for rule in rules:
            after = rule.apply(self, node)
            if after is not None and after is not node:
                self._depth -= 1
                return self._applied(rule, node, after)
        self._depth -= 1
        return node

    def _applied(self, rule: Rule, before: Node, after: Node) -> Node:
        if self.rewrites == self._limit:  # reached by what `after` itself is made of
            return before
        self.rewrites += 1
        if self._trace is not None:
            self._trace.append(Application(rule.name, before, after))
        return after

    def rebuild(self, root: Node, mapping: Mapping[Node, Node]) -> Node:
        """`root` with nodes replaced by `mapping` and everything above them folded again."""
        changed: dict[Node, Node] = dict(mapping)
        untouched, now = changed.keys().isdisjoint, changed.get
        for node in toposort(root):
            if node in changed or untouched(node.src):
                continue
            src = tuple(map(now, node.src, node.src))
            after = self.build(node.op, node.dtype, src, node.attr)
            if after is not node:
                changed[node] = after
        return changed.get(root, root)

    # one method per op that passes write often; an int or float operand takes the other's dtype

    def const(self, dtype: DType, value: Number) -> Node:
        return const(dtype, value)

    def unary(self, op: Op, a: Node) -> Node:
        return self.build(op, a.dtype, (a,))

    def binary(self, op: Op, a: "Node | float", b: "Node | float") -> Node:
        if not isinstance(a, Node):
            x, b = _pair(a, b)
        else:
            x = a
            if not isinstance(b, Node):
                b = const(x.dtype, b)
        return self.build(op, x.dtype, (x, b))

    def compare(self, op: Op, a: "Node | float", b: "Node | float") -> Node:
        x, y = _pair(a, b)
        return self.build(op, BOOL.vec(x.dtype.count), (x, y))

    def add(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(_ADD, a, b)

    def sub(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(_SUB, a, b)

    def mul(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(_MUL, a, b)

    def fdiv(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(_FDIV, a, b)

    def idiv(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(_IDIV, a, b)

    def mod(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(_MOD, a, b)

    def max_(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(_MAX, a, b)

    def min_(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(_MIN, a, b)

    def and_(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(_AND, a, b)

    def or_(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(_OR, a, b)

    def xor(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(_XOR, a, b)

    def shl(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(_SHL, a, b)

    def shr(self, a: "Node | float", b: "Node | float") -> Node:
        return self.binary(_SHR, a, b)

    def lt(self, a: "Node | float", b: "Node | float") -> Node:
        return self.compare(_LT, a, b)

    def le(self, a: "Node | float", b: "Node | float") -> Node:
        return self.compare(_LE, a, b)

    def eq(self, a: "Node | float", b: "Node | float") -> Node:
        return self.compare(_EQ, a, b)

    def ne(self, a: "Node | float", b: "Node | float") -> Node:
        return self.compare(_NE, a, b)

    def not_(self, a: Node) -> Node:
        return self.unary(_NOT, a)

    def neg(self, a: Node) -> Node:
        return self.unary(_NEG, a)

    def where(self, condition: Node, a: "Node | float", b: "Node | float") -> Node:
        x, y = _pair(a, b)
        return self.build(_WHERE, x.dtype, (condition, x, y))

    def cast(self, a: Node, dtype: DType) -> Node:
        """`a` converted to the scalar type of `dtype`, lane by lane."""
        return self.build(_CAST, dtype.vec(a.dtype.count), (a,))

    def bitcast(self, a: Node, dtype: DType) -> Node:
        return self.build(_BITCAST, dtype.vec(a.dtype.count), (a,))


def _pair(a: "Node | float", b: "Node | float") -> tuple[Node, Node]:
    if isinstance(a, Node):
        return a, b if isinstance(b, Node) else const(a.dtype, b)
    assert isinstance(b, Node), "one operand is a node"
    return const(b.dtype, a), b
