"""A cost model: cycles that one core, or one wave, needs for a PROGRAM. No clock, no device.

It counts instructions in vectors of the target, waits of a sum for itself, lines of memory that a
loop touches anew, and what does not fit in registers. It has to rank schedules of one kernel, not
to be right: what it leaves out (ports, prefetching, translation of addresses) is much the same for
all of them. Throughputs and latencies are rounded from uops.info's tables for Zen 4 and Ice Lake.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compiler.ir import ARRAYS, DType, Node, Op, bounds, closed_by, toposort
from compiler.target import Capabilities

_RANGE, _END, _IF, _ENDIF, _SPECIAL = Op.RANGE, Op.END, Op.IF, Op.ENDIF, Op.SPECIAL
_READ, _WRITE, _SET, _LOOP = Op.READ, Op.WRITE, Op.SET, Op.LOOP
_STACK, _AFTER = Op.STACK, Op.AFTER

# cycles of one vector where it is not 1/2, as of most arithmetic
_SLOW: Mapping[Op, float] = {
    Op.FDIV: 8, Op.SQRT: 10, Op.IDIV: 20, Op.MOD: 20, Op.BARRIER: 40, Op.IF: 1,
    Op.LANE: 1, Op.SHUFFLE: 1, Op.CAST: 1, Op.WHERE: 1, Op.WMMA: 16,
}  # fmt: skip
_FREE = frozenset(
    (
        *(Op.CONST, *ARRAYS, Op.VAR, Op.LOCAL, Op.ACC, Op.AFTER, Op.RESULT, Op.SPLAT),
        *(Op.RANGE, Op.END, Op.ENDIF, Op.SPECIAL, Op.BITCAST, Op.INIT, Op.SET),
    )
)
_INDEX_CYCLES = 0.1  # of integer arithmetic that addresses swallow
_LOOP_CYCLES = 2.0  # of a counter, a comparison and a jump
_LATENCY = 4.0  # of an addition, a multiplication or both fused
_LINE = 64
_CACHES = ((1 << 15, 1.0), (1 << 20, 4.0), (1 << 25, 10.0))  # up to so many bytes, cycles a line
_MEMORY_CYCLES = 20.0
_SCALAR_GAIN = 6.0  # what LLVM's vectoriser makes of a loop that it can take
_WAVES = 64  # that run at the same time on a device with work-groups


@dataclass(slots=True)
class _Block:
    """A loop or the whole program. Filled by one walk."""

    range: Node | None
    trips: int = 1
    cycles: float = 0.0  # of one iteration, loops inside included
    accesses: list[Node] = field(default_factory=list)
    sets: list[Node] = field(default_factory=list)
    is_innermost: bool = True
    has_vectors: bool = False


def cycles(program: Node, capabilities: Capabilities) -> float:
    """The estimate for all iterations of a PROGRAM, at the largest sizes."""
    bits = 32 * capabilities.vector_widths[0]
    has_vectors = any(node.dtype.count > 1 for node in program.src)
    scalar = not has_vectors and not capabilities.has_local
    blocks = [_Block(None)]
    items, item = 1, _fastest_item(program)
    for node in program.src:
        if node.op is _RANGE:
            blocks[-1].is_innermost = False
            blocks.append(_Block(node, max(1, bounds(node.src[0])[1])))
        elif node.op is _END or node.op is _LOOP:
            for _ in closed_by(node):
                inner = blocks.pop()
                blocks[-1].cycles += _loop_cycles(inner, capabilities, scalar=scalar)
        elif node.op is _SPECIAL:
            items *= max(1, bounds(node.src[0])[1])
        else:
            _count(blocks[-1], node, bits)
            if item is not None and (node.op is _READ or node.op is _WRITE):
                blocks[-1].cycles += _line_cycles(node, item)  # neighbours share lines, or do not
    total = blocks[0].cycles
    if items > 1:
        total *= -(-items // (capabilities.wave * _WAVES))
    return total


def _fastest_item(program: Node) -> Node | None:
    """The hardware index by which neighbouring work items differ."""
    found = {node.attr[0]: node for node in program.src if node.op is _SPECIAL}
    return found.get("local0", found.get("group0"))


def _count(block: _Block, node: Node, bits: int) -> None:
    if node.op is _SET:
        block.sets.append(node)
    if node.op in _FREE:
        return
    vectors = _vectors(node.dtype, bits)
    if node.op is _READ or node.op is _WRITE:
        block.accesses.append(node)
        value = node if node.op is _READ else node.src[2]
        block.cycles += _vectors(value.dtype, bits) * (0.5 if node.op is _READ else 1.0)
    elif node.op is _STACK:
        block.cycles += len(node.src)
    elif node.dtype.is_int and node.dtype.count == 1 and node.op not in _SLOW:
        block.cycles += _INDEX_CYCLES
    else:
        block.cycles += vectors * _SLOW.get(node.op, 0.5)


def _vectors(dtype: DType, bits: int) -> int:
    return max(1, -(-dtype.count * 8 * dtype.itemsize // bits))


def _loop_cycles(block: _Block, capabilities: Capabilities, *, scalar: bool) -> float:
    """All iterations of a loop."""
    assert block.range is not None, "the program itself is no loop"
    once = block.cycles
    if block.sets and block.is_innermost:
        once = max(once, _chain(block.sets))
    once += _spills(block.sets, capabilities)
    if scalar and block.is_innermost and not block.sets:
        once /= _SCALAR_GAIN
    once += sum([_line_cycles(access, block.range) for access in block.accesses])
    return block.trips * (once + (_LOOP_CYCLES if block.trips > 1 else 0.0))


def _chain(sets: Sequence[Node]) -> float:
    """The longest way from an accumulator to its next value."""
    longest = 0.0
    for node in sets:
        depths: dict[Node, float] = {node.src[0]: 0.0}
        for below in toposort(node.src[1]):
            before = [depths[source] for source in below.src if source in depths]
            if before:
                depths[below] = max(before) + _LATENCY
        longest = max(longest, depths.get(node.src[1], 0.0))
    return longest


def _spills(sets: Sequence[Node], capabilities: Capabilities) -> float:
    """Accumulators for which there are no registers are loaded and stored in each iteration."""
    bits = 32 * capabilities.vector_widths[0]
    held = sum([_vectors(node.src[0].dtype, bits) for node in sets])
    return 2.0 * max(0, held + 3 - capabilities.vector_registers)


def _line_cycles(access: Node, loop: Node) -> float:
    """What the lines cost that an access touches anew in each iteration of the loop around it."""
    buffer = access.src[0]
    while buffer.op is _AFTER:
        buffer = buffer.src[0]
    step = _slope(access.src[1], loop)
    value = access if access.op is _READ else access.src[2]
    size = buffer.dtype.itemsize
    lines = min(abs(step) * size, max(_LINE, value.dtype.count * size)) / _LINE
    return lines * _price(buffer)


def _price(buffer: Node) -> float:
    """Cycles for a line, by where a buffer of that size lies."""
    size = buffer.attr[1]
    elements = size if isinstance(size, int) else bounds(size)[1]
    for most, price in _CACHES:
        if elements * buffer.dtype.itemsize <= most:
            return price
    return _MEMORY_CYCLES


def _slope(offset: Node, loop: Node) -> int:
    """By how much an offset grows with a loop's index, where it is a sum; else a whole line."""
    found: dict[Node, int] = {}
    for node in toposort(offset):
        found[node] = _slope_of(node, loop, found)
    return found[offset]


def _slope_of(node: Node, loop: Node, found: Mapping[Node, int]) -> int:
    if node is loop:
        return 1
    slopes = [found[source] for source in node.src]
    if not any(slopes):
        return 0
    if node.op is Op.ADD:
        return slopes[0] + slopes[1]
    if node.op is Op.SUB:
        return slopes[0] - slopes[1]
    if node.op is Op.MUL and node.src[1].is_const:
        return slopes[0] * int(node.src[1].value)
    if node.op is Op.CAST or node.op is Op.WHERE:
        return max(slopes, key=abs)
    return _LINE
