"""Nodes with operators, so that a decomposition reads as the formula that it is."""

from dataclasses import dataclass
from functools import cache

from compiler.ir import DType, Node, Op, const
from compiler.rules.builder import Builder


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """A node and the builder that builds on it. A number beside it is a constant of its dtype."""

    node: Node
    builder: Builder

    @property
    def dtype(self) -> DType:
        return self.node.dtype.scalar

    def __add__(self, other: "Expr | float") -> "Expr":
        return self._binary(Op.ADD, other)

    def __radd__(self, other: float) -> "Expr":
        return self._reversed(Op.ADD, other)

    def __sub__(self, other: "Expr | float") -> "Expr":
        return self._binary(Op.SUB, other)

    def __rsub__(self, other: float) -> "Expr":
        return self._reversed(Op.SUB, other)

    def __mul__(self, other: "Expr | float") -> "Expr":
        return self._binary(Op.MUL, other)

    def __rmul__(self, other: float) -> "Expr":
        return self._reversed(Op.MUL, other)

    def __truediv__(self, other: "Expr | float") -> "Expr":
        return self._binary(Op.FDIV, other)

    def __rtruediv__(self, other: float) -> "Expr":
        return self._reversed(Op.FDIV, other)

    def __and__(self, other: "Expr | int") -> "Expr":
        return self._binary(Op.AND, other)

    def __or__(self, other: "Expr | int") -> "Expr":
        return self._binary(Op.OR, other)

    def __xor__(self, other: "Expr | int") -> "Expr":
        return self._binary(Op.XOR, other)

    def __lshift__(self, other: "Expr | int") -> "Expr":
        return self._binary(Op.SHL, other)

    def __rshift__(self, other: "Expr | int") -> "Expr":
        return self._binary(Op.SHR, other)

    def __invert__(self) -> "Expr":
        return Expr(self.builder.not_(self.node), self.builder)

    def __lt__(self, other: "Expr | float") -> "Expr":
        return self._compare(Op.LT, other)

    def __le__(self, other: "Expr | float") -> "Expr":
        return self._compare(Op.LE, other)

    def __gt__(self, other: float) -> "Expr":
        return Expr(self.builder.lt(_operand(self.node.dtype, other), self.node), self.builder)

    def equals(self, other: "Expr | float") -> "Expr":
        return self._compare(Op.EQ, other)

    def differs(self, other: "Expr | float") -> "Expr":
        return self._compare(Op.NE, other)

    def rounded(self) -> "Expr":
        """The nearest integral value, ties to even."""
        return Expr(self.builder.unary(Op.RINT, self.node), self.builder)

    def like(self, value: float) -> "Expr":
        """A constant of this dtype."""
        return Expr(_operand(self.node.dtype, value), self.builder)

    def times_plus(self, factor: "Expr | float", term: "Expr | float") -> "Expr":
        """self * factor + term, rounded once."""
        src = (self.node, _operand(self.node.dtype, factor), _operand(self.node.dtype, term))
        return Expr(self.builder.build(Op.MULACC, self.node.dtype, src), self.builder)

    def cast(self, dtype: DType) -> "Expr":
        return Expr(self.builder.cast(self.node, dtype), self.builder)

    def bitcast(self, dtype: DType) -> "Expr":
        return Expr(self.builder.bitcast(self.node, dtype), self.builder)

    def where(self, then: "Expr | float", otherwise: "Expr | float") -> "Expr":
        """`then` where this condition holds, else `otherwise`; one of them is an Expr."""
        like = then if isinstance(then, Expr) else otherwise
        assert isinstance(like, Expr), "one branch is an expression"
        branches = [_operand(like.node.dtype, branch) for branch in (then, otherwise)]
        return Expr(self.builder.where(self.node, *branches), self.builder)

    def _binary(self, op: Op, other: "Expr | float") -> "Expr":
        return Expr(
            self.builder.binary(op, self.node, _operand(self.node.dtype, other)), self.builder
        )

    def _reversed(self, op: Op, other: float) -> "Expr":
        return Expr(
            self.builder.binary(op, _operand(self.node.dtype, other), self.node), self.builder
        )

    def _compare(self, op: Op, other: "Expr | float") -> "Expr":
        return Expr(
            self.builder.compare(op, self.node, _operand(self.node.dtype, other)), self.builder
        )


def _operand(dtype: DType, value: Expr | float) -> Node:
    if isinstance(value, Expr):
        return value.node
    return _constant(dtype, value) if value else const(dtype, value)  # 0.0 and -0.0 are one key


@cache  # there are as many as the formulas have constants, and making one costs more than a sum
def _constant(dtype: DType, value: float) -> Node:
    return const(dtype, value)
