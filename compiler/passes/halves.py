"""16-bit floats: computed with as float32 that hold exactly a half, stored as the target can.

Where the target computes with float16 itself they stay what they are. Of one rounding after each
operation the bits are the same, since 24 digits are more than twice 11 and two.
"""

from dataclasses import dataclass, field

from compiler.ir import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    UINT16,
    DType,
    Node,
    Op,
    bounds,
    intern,
)  # fmt: skip
from compiler.passes.context import Context
from compiler.rules import FORMATS, Builder, multiply_add, narrow

_CAST, _WRITE, _READ, _CONST, _MULACC = Op.CAST, Op.WRITE, Op.READ, Op.CONST, Op.MULACC
_BITCAST, _IMAGE = Op.BITCAST, Op.IMAGE

_HALVES = frozenset((FLOAT16, BFLOAT16))
_ROUNDED = frozenset((Op.ADD, Op.SUB, Op.MUL, Op.FDIV, Op.SQRT))
_BY_FLOAT32 = frozenset((Op.FDIV, Op.SQRT))  # native ones need not be rounded correctly
_WMMA = Op.WMMA
_MOVES = frozenset((Op.STACK, Op.LANE, Op.SHUFFLE, Op.SPLAT))
_STORAGE = frozenset((Op.BUFFER, Op.LOCAL, Op.AFTER))
_FIRST_GAP = {FLOAT16: 2**11, BFLOAT16: 2**8}  # up to here every integer is representable


def halves(root: Node, context: Context) -> Node:
    """The graph without 16-bit floats, but for those that the target itself moves and converts."""
    order = context.order(root)
    dtypes = {node.dtype for node in order}
    if not any(map(_is_half, dtypes)):
        return root
    capabilities = context.target.capabilities
    lowering = _Halves(context.builder, capabilities.float16, capabilities.float16_math)
    for node in order:
        src = lowering.sources(node)
        lowering.done[node] = lowering.lower(node, src)
    return lowering.done[root]


def _is_half(dtype: DType) -> bool:
    return dtype.scalar in _HALVES


@dataclass(frozen=True, slots=True)
class _Halves:
    """The lowering of one graph. The maps belong to it alone and grow as it goes."""

    builder: Builder
    has_float16: bool  # the target converts between float16 and float32 itself
    has_math: bool  # and computes with float16
    done: dict[Node, Node] = field(default_factory=dict)
    stored: dict[tuple[Node, DType], Node] = field(default_factory=dict)  # (float32, half) -> bits

    def lower(self, node: Node, src: tuple[Node, ...]) -> Node:
        b, dtype = self.builder, node.dtype
        if node.op is _CAST or node.op is _BITCAST:
            return self.convert(node, src[0])
        if not _is_half(dtype) or node.op is _IMAGE:  # of which the device makes float32 itself
            return self.user(node, src)
        if self.is_computed(dtype):
            return self.native(node, src)
        if node.op in _STORAGE:
            return intern(node.op, self.memory(dtype), src, node.attr)
        if node.op is _READ:
            return self.load(intern(node.op, self.memory(dtype), src), dtype)
        if node.op is _CONST:
            return b.const(FLOAT32, node.value)
        wide = FLOAT32.vec(dtype.count)
        if node.op is _MULACC:
            return self.rounded(narrow(b, multiply_add(b, *src), dtype.scalar), dtype)
        value = b.build(node.op, wide, src, node.attr)
        return self.rounded(value, dtype) if node.op in _ROUNDED else value

    def user(self, node: Node, src: tuple[Node, ...]) -> Node:
        """What is no half itself, and may store or compare some."""
        if node.op is _WRITE and self.is_lowered(node.src[2].dtype):
            value = self.store(src[2], node.src[2].dtype)
            return intern(node.op, node.dtype, (*src[:2], value, *src[3:]))
        return node if src == node.src else self.builder.build(node.op, node.dtype, src, node.attr)

    def native(self, node: Node, src: tuple[Node, ...]) -> Node:
        """An op on float16 as the target has it."""
        b, dtype = self.builder, node.dtype
        if node.op in _BY_FLOAT32:
            wide = FLOAT32.vec(dtype.count)
            return b.cast(b.build(node.op, wide, tuple([b.cast(x, wide) for x in src])), dtype)
        return node if src == node.src else b.build(node.op, dtype, src, node.attr)

    def sources(self, node: Node) -> tuple[Node, ...]:
        """What the sources have become; a tensor core multiplies halves as they are stored."""
        if node.op is not _WMMA:
            return tuple([self.done[child] for child in node.src])
        return tuple(
            [
                self.builder.bitcast(self.raw(child), child.dtype)
                if self.is_lowered(child.dtype)
                else self.done[child]
                for child in node.src
            ]
        )

    def raw(self, node: Node) -> Node:
        """The stored form of a half; what is only moved is not converted there and back."""
        if node.op in _MOVES:
            src = tuple([self.raw(child) for child in node.src])
            return self.builder.build(node.op, self.memory(node.dtype), src, node.attr)
        return self.store(self.done[node], node.dtype)

    def convert(self, node: Node, x: Node) -> Node:
        """CAST and BITCAST, to and from halves."""
        b, source, target = self.builder, node.src[0].dtype, node.dtype
        if self.is_computed(source):
            if node.op is _BITCAST and not _is_half(target):
                return b.bitcast(x, target)
            x = b.cast(x, FLOAT32)
        if node.op is _BITCAST:
            bits = b.bitcast(self.store(x, source), UINT16) if _is_half(source) else x
            if self.is_computed(target):
                return b.bitcast(bits, target)
            if _is_half(target):
                return FORMATS[target.scalar].from_bits(b, b.bitcast(bits, UINT16))
            return b.bitcast(bits, target)
        if not _is_half(target):
            return b.cast(x, target)
        if self.is_computed(target):
            return b.cast(narrow(b, x, target.scalar), target)
        value = narrow(b, x, target.scalar)
        return value if _is_exact(node.src[0], target) else self.rounded(value, target)

    def memory(self, dtype: DType) -> DType:
        """The dtype in which halves lie in memory."""
        return dtype if self.is_native(dtype) else UINT16.vec(dtype.count)

    def is_computed(self, dtype: DType) -> bool:
        return self.has_math and dtype.scalar is FLOAT16

    def is_lowered(self, dtype: DType) -> bool:
        return _is_half(dtype) and not self.is_computed(dtype)

    def is_native(self, dtype: DType) -> bool:
        return self.has_float16 and dtype.scalar is FLOAT16

    def load(self, raw: Node, dtype: DType) -> Node:
        """The float32 of a stored half."""
        b = self.builder
        if self.is_native(dtype):
            value = b.cast(raw, FLOAT32)
        else:
            value = FORMATS[dtype.scalar].from_bits(b, raw)
        self.stored.setdefault((value, dtype), raw)
        return value

    def store(self, value: Node, dtype: DType) -> Node:
        """The stored form of a float32 that holds a half, or that is to be rounded to one."""
        found = self.stored.get((value, dtype))
        if found is not None:
            return found
        if self.is_native(dtype):
            return self.builder.cast(value, FLOAT16)
        return FORMATS[dtype.scalar].to_bits(self.builder, value)

    def rounded(self, value: Node, dtype: DType) -> Node:
        return self.load(self.store(value, dtype), dtype)


def _is_exact(x: Node, target: DType) -> bool:
    """Whether every value of `x` is a half."""
    if x.dtype.is_float:
        return x.op is _READ and x.src[0].op is _IMAGE and x.src[0].dtype is target.scalar
    limit = _FIRST_GAP[target.scalar]
    low, high = bounds(x)
    return -limit <= low and high <= limit
