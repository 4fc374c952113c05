"""A kernel whose opts are being chosen."""

from dataclasses import dataclass
from functools import lru_cache

from compiler.ir import AxisKind, Node, Op
from compiler.kernel.accesses import Access
from compiler.kernel.axis import Axis
from compiler.kernel.kernel import Kernel, Opt, iterations
from compiler.options import ScheduleOptions
from compiler.target import Target

_REDUCE = Op.REDUCE
_SLOW = frozenset((Op.EXP2, Op.LOG2, Op.SIN, Op.COS, Op.TAN, Op.TANH, Op.ERF, Op.POW))
_SPARE = 2  # the passes make more nodes than the AST has, for indices and functions


@dataclass(frozen=True, slots=True)
class Draft:
    """The kernel with the choices so far, and what further choices depend on."""

    kernel: Kernel
    target: Target
    options: ScheduleOptions
    accesses: tuple[Access, ...]
    nodes: int  # of the AST

    @property
    def has_work_groups(self) -> bool:
        return self.target.capabilities.has_local

    @property
    def has_local_memory(self) -> bool:
        return self.has_work_groups and self.target.capabilities.shared_bytes > 0

    @property
    def has_tiles(self) -> bool:
        """Whether sums are kept in register tiles, and vectors follow what is contiguous."""
        return not self.has_work_groups and not self.target.capabilities.merged_upcasts

    @property
    def has_lanes(self) -> bool:
        """Whether something has been upcast or unrolled."""
        return bool(self.kernel.of_kind(AxisKind.UPCAST, AxisKind.UNROLL))

    def attempt(self, opt: Opt) -> "Draft | None":
        """The draft with one more opt, None where it is not legal or makes too large a kernel."""
        if opt.why_illegal(self.kernel, self.target) is not None:
            return None
        after = self.over(opt.apply(self.kernel))
        is_large = self.is_too_large(after.upcasts())
        return None if is_large and after.upcasts() > self.upcasts() else after

    def is_too_large(self, copies: int) -> bool:
        """Whether so many copies of the innermost statement come near the limit of nodes."""
        return self.nodes * copies > self.options.max_nodes // _SPARE

    def legally(self, opt: Opt) -> "Draft":
        """The draft with one more opt where it is legal, however large: the caller has counted."""
        if opt.why_illegal(self.kernel, self.target) is not None:
            return self
        return self.over(opt.apply(self.kernel))

    def over(self, kernel: Kernel) -> "Draft":
        """The draft with another kernel; `replace` would take ten times as long."""
        return Draft(kernel, self.target, self.options, self.accesses, self.nodes)

    def or_else(self, opt: Opt) -> "Draft":
        """The draft with one more opt where it is legal, else as it is."""
        return self.attempt(opt) or self

    def loops(self, *kinds: AxisKind) -> list[Axis]:
        """The axes of these kinds whose size is a number above 1, outermost first."""
        axes = self.kernel.of_kind(*kinds)
        return [axis for axis in axes if isinstance(axis.size, int) and axis.size > 1]

    def rest_of(self, origin: str, kind: AxisKind) -> Axis | None:
        """The axis of this kind that is left of an axis of the AST."""
        axes = [axis for axis in self.kernel.of_kind(kind) if axis.origin == origin]
        return axes[0] if axes else None

    def stride(self, access: Access, axis: Axis) -> int | None:
        return access.stride(self.kernel, axis)

    def outputs_left(self) -> int:
        """The number of iterations of output axes that are not upcast."""
        return iterations(self.kernel.of_kind(AxisKind.GLOBAL, AxisKind.LOCAL))

    def upcasts(self) -> int:
        """The number of copies of the innermost statement."""
        return iterations(self.kernel.of_kind(AxisKind.UPCAST, AxisKind.UNROLL))

    def statements(self) -> int:
        """Like `upcasts`, with lanes counted as vectors where the target has nothing else."""
        lanes = 1 if self.has_work_groups else self.options.vector_lanes
        return max(1, self.upcasts() // lanes)

    def has_symbolic_outputs(self) -> bool:
        return any(not isinstance(axis.size, int) for axis in self.kernel.output_axes)


def size_of(axis: Axis) -> int:
    """The size of an axis that is known to be a number."""
    assert isinstance(axis.size, int), f"{axis.name} is symbolic"
    return axis.size


@lru_cache(maxsize=256)  # every heuristic asks about the same axes
def divisors(size: int, largest: int) -> tuple[int, ...]:
    """The divisors of `size` from 2 to `largest`, in order."""
    return tuple([amount for amount in range(2, min(size, largest) + 1) if size % amount == 0])


def vectors_of(draft: Draft, lanes: int) -> int:
    """How many vectors hold these lanes: full ones, then powers of two."""
    full, rest = divmod(lanes, draft.options.vector_lanes)
    return full + rest.bit_count()


def is_slow(value: Node) -> bool:
    """Whether a value is a slow function of something, below no other REDUCE."""
    stack = [value]
    while stack:
        node = stack.pop()
        if node.op in _SLOW:
            return True
        if node.op is not _REDUCE:
            stack.extend(node.src)
    return False
