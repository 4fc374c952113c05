"""Deliberate faults of the compiler, by which the oracles are measured.

To add one: a line in MUTANTS. Each is a patch of a copy of the compiler: `before` stands once in
`file`. One that `keeps_results` makes other code for the same numbers, and only a comparison of
sources can see it.
"""

from dataclasses import dataclass
from enum import Enum

from replay.patched import Patch


class Fault(Enum):
    """What kind of mistake a mutant is."""

    GUARD = "dropped guard"
    BOUND = "off-by-one bound"
    IDENTITY = "wrong identity"
    SPLIT = "swapped halves of a split"
    CAST = "lost cast or rounding"
    BARRIER = "missing barrier"
    LAUNCH = "wrong launch size"
    NAN = "fold or choice that NaN breaks"
    TERM = "lost or swapped term"
    OPERATOR = "wrong operator"
    TRAP = "operation that may trap"


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    fault: Fault
    what: str
    file: str
    before: str
    after: str
    keeps_results: bool = False

    @property
    def patch(self) -> Patch:
        """The change to a copy of the compiler."""
        return Patch(self.file, self.before, self.after)


_ALGEBRA, _DIVMOD = "compiler/rules/algebra.py", "compiler/rules/divmod.py"
_DECOMPOSE, _GATES = "compiler/rules/decompose.py", "compiler/passes/gates.py"
_COMPARE, _RULES = "compiler/rules/compare.py", "compiler/rules/gates.py"
_GROUP, _LLVM = "compiler/passes/group.py", "compiler/backends/llvm/ops.py"
_CUT, _LOWER = "compiler/kernel/opts/cut.py", "compiler/kernel/to_nodes.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "read-gate", Fault.GUARD, "a read outside of its mask is not replaced by 0", _GATES,
        "return b.where(_spread(b, gate, count), value, b.const(node.dtype, 0))",
        "return value",
    ),
    Mutant(
        "masked-constant", Fault.GUARD, "a constant is there outside of its mask, too", _LOWER,
        "return self.index.builder.where(place.valid, value, const(node.dtype, 0))",
        "return value",
    ),
    Mutant(
        "padded-term", Fault.GUARD, "a sum takes the terms in the padding of its axis", _LOWER,
        "guards = [guard for name in outputs for guard in loops.guards[name]]",
        "guards = []",
    ),
    Mutant(
        "first-item", Fault.GUARD, "no work item of a group stores what all of them hold", _GROUP,
        "first = b.eq(index, 0)",
        "first = b.lt(index, 0)",
    ),
    Mutant(
        "le-constant", Fault.BOUND, "x <= c becomes x < c", _COMPARE,
        "return b.lt(node.src[0], int(limit) + 1)",
        "return b.lt(node.src[0], int(limit))",
    ),
    Mutant(
        "rounded-limit", Fault.BOUND, "the limit of f*x < c is rounded down", _COMPARE,
        "bound = -((constant - int(limit)) // factor)",
        "bound = (int(limit) - constant) // factor",
    ),
    Mutant(
        "lower-mask", Fault.BOUND, "a mask begins one element late",
        "compiler/kernel/indexing.py",
        "found.append(self.builder.le(self.size(low), index))",
        "found.append(self.builder.lt(self.size(low), index))",
    ),
    Mutant(
        "upper-mask", Fault.BOUND, "a mask ends one element late",
        "compiler/kernel/indexing.py",
        "found.append(self.builder.lt(index, self.size(high)))",
        "found.append(self.builder.le(index, self.size(high)))",
    ),
    Mutant(
        "one-multiple", Fault.BOUND, "x / c is taken for constant one multiple too long", _DIVMOD,
        "if low < 0 or low // divisor != high // divisor:",
        "if low < 0 or low // divisor != (high - 1) // divisor:",
    ),
    Mutant(
        "max-identity", Fault.IDENTITY, "a maximum starts at 0", _DECOMPOSE,
        "_MAX: scalar.lowest,",
        "_MAX: False if scalar is BOOL else 0,",
    ),
    Mutant(
        "sum-identity", Fault.IDENTITY, "a sum of integers starts at 1", _DECOMPOSE,
        "_ADD: -0.0 if scalar.is_float else 0,",
        "_ADD: -0.0 if scalar.is_float else 1,",
    ),
    Mutant(
        "split-order", Fault.SPLIT, "the inner piece of an axis goes by large steps", _CUT,
        "outer = Axis(outer_name, outer_size, outer_kind, origin, step * inner_size)\n"
        "        inner = Axis(inner_name, inner_size, inner_kind, origin, step)",
        "outer = Axis(outer_name, outer_size, outer_kind, origin, step)\n"
        "        inner = Axis(inner_name, inner_size, inner_kind, origin, step * outer_size)",
        keeps_results=True,
    ),
    Mutant(
        "split-step", Fault.SPLIT, "the pieces of an axis overlap", _CUT,
        "outer = Axis(outer_name, outer_size, outer_kind, origin, step * inner_size)",
        "outer = Axis(outer_name, outer_size, outer_kind, origin, step * outer_size)",
    ),
    Mutant(
        "cast-of-cast", Fault.CAST, "a narrowing between two casts is lost", _RULES,
        "return b.cast(x, node.dtype) if keeps or node.dtype.bits <= inner.dtype.bits else None",
        "return b.cast(x, node.dtype)",
    ),
    Mutant(
        "saturation", Fault.CAST, "a float above the range of an integer becomes 0",
        "compiler/rules/casts.py",
        "outside = b.where(b.le(b.const(x.dtype, above), x), highest, 0)",
        "outside = b.const(inside.dtype, 0)",
    ),
    Mutant(
        "half-rounding", Fault.CAST, "results in 16 bits are rounded only when stored",
        "compiler/passes/halves.py",
        "return self.rounded(value, dtype) if node.op in _ROUNDED else value",
        "return value",
    ),
    Mutant(
        "barrier", Fault.BARRIER, "parts of a sum are read before all have been written", _GROUP,
        "arrived = intern(_AFTER, node.dtype, (memory, intern(_BARRIER, VOID, (write,))))",
        "arrived = intern(_AFTER, node.dtype, (memory, write))",
    ),
    Mutant(
        "launch", Fault.LAUNCH, "half of the iterations are launched",
        "compiler/backends/describe.py",
        "return Launch() if outer is None else Launch((_size(outer.src[0]),))",
        "size = 1 if outer is None else _size(outer.src[0])\n"
        "        return Launch(((size + 1) // 2 if isinstance(size, int) else size,))",
    ),
    Mutant(
        "max-of-nan", Fault.NAN, "a maximum forgets NaN", _DECOMPOSE,
        "better = b.or_(better, b.ne(x, x))",
        "better = b.or_(better, better)",
    ),
    Mutant(
        "times-zero", Fault.NAN, "x * 0.0 is 0.0 whatever x is", _ALGEBRA,
        "return node.src[1] if value == 0 and not node.dtype.is_float else None",
        "return node.src[1] if value == 0 else None",
    ),
    Mutant(
        "plus-zero", Fault.NAN, "x + 0.0 is x, also where x is -0.0", _ALGEBRA,
        "if (value == 0 and not node.dtype.is_float) or _is_minus_zero(value):",
        "if value == 0:",
    ),
    Mutant(
        "less-of-nan", Fault.NAN, "NaN is less than everything", _LLVM,
        '(Op.LT, "olt")',
        '(Op.LT, "ult")',
    ),
    Mutant(
        "last-term", Fault.TERM, "a sum forgets the last of several terms",
        "compiler/passes/reduce.py",
        "        for term in terms:\n",
        "        for term in terms[:-1] or terms:\n",
    ),
    Mutant(
        "lane", Fault.TERM, "every lane is taken for the first", _RULES,
        "return vector.src[index] if vector.op is _STACK else None",
        "return vector.src[0] if vector.op is _STACK else None",
    ),
    Mutant(
        "where-not", Fault.TERM, "a choice by the opposite keeps its sides", _RULES,
        "return b.where(condition.src[0], y, x) if condition.op is _NOT else None",
        "return b.where(condition.src[0], x, y) if condition.op is _NOT else None",
    ),
    Mutant(
        "rest-of-division", Fault.TERM, "(g*x + r) % (g*c) loses r", _DIVMOD,
        "return b.add(b.mul(b.mod(inner, divisor // factor), factor), rest)",
        "return b.mul(b.mod(inner, divisor // factor), factor)",
    ),
    Mutant(
        "quotient", Fault.TERM, "(c*x + y) / c loses y / c", _DIVMOD,
        "return b.add(quotient, b.idiv(remainder, divisor))",
        "return quotient",
    ),
    Mutant(
        "ties", Fault.OPERATOR, "halves are rounded away from zero", _LLVM,
        '(Op.RINT, Kind.FLOAT): "roundeven"',
        '(Op.RINT, Kind.FLOAT): "round"',
    ),
    Mutant(
        "shift", Fault.OPERATOR, "a negative number is shifted as if it were none", _LLVM,
        '(Op.SHR, Kind.INT): "ashr"',
        '(Op.SHR, Kind.INT): "lshr"',
    ),
    Mutant(
        "remainder", Fault.OPERATOR, "the remainder of a signed number is an unsigned one", _LLVM,
        '(Op.MOD, Kind.INT): "srem"',
        '(Op.MOD, Kind.INT): "urem"',
    ),
    Mutant(
        "division-by-zero", Fault.TRAP, "a divisor that may be 0 is taken for safe", _DECOMPOSE,
        "if low <= 0 <= high:\n        return False",
        "if low < 0 < high:\n        return False",
    ),
)  # fmt: skip
