"""The second spelling of an opt: axes by number, 0 for the whole axis (`UPCAST 0 4`).

`TC 0 -1 2 1` is the last choice of axes, any core (or one by its number), matching 2 and use 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from compiler.ir import AxisKind, Size
from compiler.kernel.axis import OUTPUT_KINDS, REDUCE_KINDS, Axis
from compiler.kernel.kernel import Kernel, Opt
from compiler.kernel.opts import OPTS, Group, GroupTop, Tc, Unroll
from compiler.kernel.tc_numbers import numbers_of, request
from compiler.target import Target

# What the number counts: all axes for most, those a reduce names for UNROLL, its loops for GROUP.
_COUNTED: Mapping[str, tuple[AxisKind, ...]] = {
    Unroll.op: REDUCE_KINDS,
    Group.op: (AxisKind.REDUCE, AxisKind.UNROLL),
    GroupTop.op: (AxisKind.REDUCE, AxisKind.UNROLL),
}
_BY_OP = {opt.op: opt for opt in OPTS}


@dataclass(frozen=True, slots=True)
class Positional:
    """An opt whose axis is a number; which axis that is depends on the kernel it meets."""

    op: str
    axis: int | None = None
    amount: int | None = None  # of SWAP: the number of the other axis; of TC: of a core, or -1
    matching: int | None = None  # of TC
    use: int | None = None  # of TC

    def why_illegal(self, kernel: Kernel, target: Target) -> str | None:
        named = resolve(self, kernel, target)
        return named if isinstance(named, str) else named.why_illegal(kernel, target)

    def apply(self, kernel: Kernel) -> Kernel:
        """`kernel` with the opt that this is for it. Which core TC means is the target's to say:
        `apply_all` resolves it first."""
        named = resolve(self, kernel)
        assert not isinstance(named, str), "the opt is legal"
        return named.apply(kernel)


def resolve(opt: Positional, kernel: Kernel, target: Target | None = None) -> Opt | str:
    """The opt with its axes named, or why there is none."""
    if opt.op not in _BY_OP:
        return f"is unknown, use one of {' '.join(_BY_OP)}"
    if opt.op == Tc.op:
        asked = (opt.axis, opt.amount, opt.matching, opt.use)
        return "has no target" if target is None else request(kernel, target, asked)
    if opt.matching is not None or opt.use is not None:
        return f"matching and use are of TC, {opt.op} has none"
    wanted = fields(_BY_OP[opt.op])
    numbers = (opt.axis, opt.amount)
    given = tuple([number for number in numbers if number is not None])
    if given != numbers[: len(wanted)]:  # one is left out, or one too many
        return f"axis {opt.axis} and amount {opt.amount}, {opt.op} takes {len(wanted)} numbers"
    values: list[object] = []
    whole: Size = 0  # the size of the axis named last: what an amount of 0 stands for
    for field, value in zip(wanted, given, strict=True):
        if field.type is str:
            axis = _numbered(kernel, opt.op, value)
            if isinstance(axis, str):
                return axis
            values.append(axis.name)
            whole = axis.size
        else:
            values.append(whole if value == 0 and value is not False else value)
    return _BY_OP[opt.op](*values)  # type: ignore[arg-type]  # by the types of the fields


def to_positional(opt: Opt, kernel: Kernel, target: Target | None = None) -> Positional:
    """The opt spelled with numbers; `kernel` is the one it applies to, on `target` if it is TC."""
    if isinstance(opt, Positional):
        return opt
    if isinstance(opt, Tc):
        assert target is not None, "the number of a core is the target's"
        return Positional(Tc.op, *numbers_of(opt, kernel, target))
    op, values = opt_fields(opt)
    numbers = [_number(kernel, op, value) if isinstance(value, str) else value for value in values]
    return Positional(op, *numbers)


def opt_fields(opt: Opt) -> tuple[str, tuple[str | int, ...]]:
    """The name of a named opt, and its axes and amount in order."""
    assert isinstance(opt, OPTS), f"{opt!r} is not in OPTS"
    return opt.op, tuple([getattr(opt, field.name) for field in fields(opt)])


def _counted(kernel: Kernel, op: str) -> tuple[Axis, ...]:
    return kernel.of_kind(*_COUNTED.get(op, (*OUTPUT_KINDS, *REDUCE_KINDS)))


def _numbered(kernel: Kernel, op: str, number: int) -> Axis | str:
    axes = _counted(kernel, op)
    if not isinstance(number, int) or isinstance(number, bool):
        return f"axis {number} is {type(number).__name__}, use a number or a name"
    if not 0 <= number < len(axes):
        return f"axis {number}, the kernel has {len(axes)} axes that {op} counts from 0"
    return axes[number]


def _number(kernel: Kernel, op: str, name: str) -> int | None:
    names = [axis.name for axis in _counted(kernel, op)]
    return names.index(name) if name in names else None
