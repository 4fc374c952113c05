"""Laws of WHERE, AND, OR, NOT, casts between integers, and of vectors built from scalars."""

from compiler.ir import BOOL, Kind, Node, Op, bounds
from compiler.rules.builder import Builder, Constants, Rule
from compiler.rules.fold import constant_of

_NOT, _WHERE, _XOR, _AND, _CAST = Op.NOT, Op.WHERE, Op.XOR, Op.AND, Op.CAST
_STACK, _SPLAT, _LANE = Op.STACK, Op.SPLAT, Op.LANE


def where_decided(b: Builder, node: Node) -> Node | None:
    """where(true, x, y) = x, where(c, x, x) = x, where(c, true, false) = c"""
    condition, x, y = node.src
    value = constant_of(condition)
    if value is not None:
        return x if value else y
    if x is y:
        return x
    if node.dtype.scalar is BOOL and constant_of(x) is True and constant_of(y) is False:
        return condition
    return None


def where_not(b: Builder, node: Node) -> Node | None:
    """where(not c, x, y) = where(c, y, x)"""
    condition, x, y = node.src
    return b.where(condition.src[0], y, x) if condition.op is _NOT else None


def where_same_condition(b: Builder, node: Node) -> Node | None:
    """where(c, where(c, x, y), z) = where(c, x, z); where(c, x, where(c, y, z)) = where(c, x, z)"""
    condition, x, y = node.src
    if x.op is _WHERE and x.src[0] is condition:
        return b.where(condition, x.src[1], y)
    if y.op is _WHERE and y.src[0] is condition:
        return b.where(condition, x, y.src[2])
    return None


def bit_constants(b: Builder, node: Node) -> Node | None:
    """x & 0 = 0, x & ones = x, x | 0 = x, x | ones = ones, x ^ 0 = x; true is the ones of bool"""
    x, y = node.src
    value = constant_of(y)
    if value is None:
        return x if x is y and node.op is not _XOR else None
    ones = True if node.dtype.scalar is BOOL else int(node.dtype.highest) - int(node.dtype.lowest)
    mask = int(value) & int(ones)
    if mask == 0:
        return y if node.op is _AND else x
    if mask == int(ones) and node.op is not _XOR:
        return x if node.op is _AND else y
    return None


def repeated_operand(b: Builder, node: Node) -> Node | None:
    """(x and y) and y = x and y, likewise or"""
    x, y = node.src
    if x.op is node.op and y in x.src:
        return x
    return y if y.op is node.op and x in y.src else None


def shift_by_zero(b: Builder, node: Node) -> Node | None:
    """x << 0 = x, x >> 0 = x"""
    return node.src[0] if constant_of(node.src[1]) == 0 else None


def cast_to_same(b: Builder, node: Node) -> Node | None:
    """cast(x) = x to its own dtype"""
    return node.src[0] if node.src[0].dtype is node.dtype else None


def cast_of_cast(b: Builder, node: Node) -> Node | None:
    """cast(cast(x)) = cast(x) for ints, where the inner keeps x or the outer is no wider"""
    inner = node.src[0]
    if node.op is not _CAST or inner.op is not _CAST:
        return None
    x = inner.src[0]
    exact = (Kind.INT, Kind.UINT, Kind.BOOL)
    if x.dtype.kind not in exact or not inner.dtype.is_int or not node.dtype.is_int:
        return None
    low, high = bounds(x)
    keeps = int(inner.dtype.lowest) <= low and high <= int(inner.dtype.highest)
    return b.cast(x, node.dtype) if keeps or node.dtype.bits <= inner.dtype.bits else None


def lane_of_vector(b: Builder, node: Node) -> Node | None:
    """lane i of stack(x0, ..., xn) = xi; of splat(x) = x"""
    return _lane_of(node.src[0], node.attr[0])


def shuffle_of_vector(b: Builder, node: Node) -> Node | None:
    """lanes of splat(x) = splat(x); of stack(x0, ..., xn) = stack(xi, ..., xj)"""
    width = node.src[0].dtype.count
    lanes = [_lane_of(node.src[lane // width], lane % width) for lane in node.attr[0]]
    known = tuple([lane for lane in lanes if lane is not None])
    return b.build(_STACK, node.dtype, known) if len(known) == len(lanes) else None


def _lane_of(vector: Node, index: int) -> Node | None:
    if vector.op is _SPLAT:
        return vector.src[0]
    return vector.src[index] if vector.op is _STACK else None


def stack_of_equal(b: Builder, node: Node) -> Node | None:
    """stack(x, ..., x) = splat(x); stack(lane 0 of v, ..., lane n of v) = v"""
    first = node.src[0]
    if all(child is first for child in node.src):
        return b.build(_SPLAT, node.dtype, (first,))
    if first.op is not _LANE or first.src[0].dtype is not node.dtype:
        return None
    vector = first.src[0]
    ordered = all(
        child.op is _LANE and child.src[0] is vector and child.attr[0] == index
        for index, child in enumerate(node.src)
    )
    return vector if ordered else None


RULES = (
    Rule("where-decided", (Op.WHERE,), where_decided),
    Rule("where-not", (Op.WHERE,), where_not, first=(Op.NOT,)),
    Rule("where-same-condition", (Op.WHERE,), where_same_condition),
    Rule("bit-constants", (Op.AND, Op.OR, Op.XOR), bit_constants),
    Rule("repeated-operand", (Op.AND, Op.OR), repeated_operand),
    Rule("shift-by-zero", (Op.SHL, Op.SHR), shift_by_zero, constants=Constants.LAST),
    Rule("cast-to-same", (Op.CAST, Op.BITCAST), cast_to_same),
    Rule("cast-of-cast", (Op.CAST,), cast_of_cast, first=(Op.CAST,)),
    Rule("lane-of-vector", (Op.LANE,), lane_of_vector, first=(Op.SPLAT, Op.STACK)),
    Rule("shuffle-of-vector", (Op.SHUFFLE,), shuffle_of_vector, first=(Op.SPLAT, Op.STACK)),
    Rule("stack-of-equal", (Op.STACK,), stack_of_equal),
)
