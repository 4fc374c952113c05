"""What one node must be by itself: fields, arity, dtypes. One check per op, in _CHECKS."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import attrgetter

from compiler.ir.dtype import BOOL, INT32, INT64, VOID, DType, Kind
from compiler.ir.fields import is_number, why_bad_fields
from compiler.ir.images import PLACE, why_no_image, why_no_pixel
from compiler.ir.node import Node, loop_accs, loop_parts
from compiler.ir.op import (
    ARRAYS,
    BINARY,
    COMPARISONS,
    ELEMENTWISE,
    FIELDS,
    REDUCTIONS,
    UNARY,
    Op,
)
from compiler.ir.sources import dtypes_of, why_not_arity
from compiler.ir.vectors import VECTORS

_dtype_of = attrgetter("dtype")
_CONST, _RANGE, _LOOP, _ACC, _END = Op.CONST, Op.RANGE, Op.LOOP, Op.ACC, Op.END
_SHUFFLE = Op.SHUFFLE
_Signature = tuple[object, ...]
_wellformed: set[_Signature] = set()  # of nodes that are; only asked


def find_malformed(nodes: Iterable[Node]) -> tuple[Node, str] | None:
    """The first of `nodes` with something wrong with it by itself, and what that is.

    Where a signature says all that the check looks at, each one is judged once.
    """
    known, signed = _wellformed, _SIGNED
    for node in nodes:
        op, src = node.op, node.src
        if op not in signed or not src:
            reason = why_malformed(node)
        else:
            first = src[0]
            if node.attr:
                signature = _signature(node)
            elif len(src) == 2:  # spelled out, as there are thousands
                signature = (op, node.dtype, first.op, first.dtype, src[1].dtype)
            else:
                signature = (op, node.dtype, first.op, *map(_dtype_of, src))
            if signature in known:
                continue
            reason = why_malformed(node)
            if reason is None:
                known.add(signature)
        if reason is not None:
            return node, reason
    return None


def _signature(node: Node) -> _Signature:
    """All that decides about a node of _SIGNED that has fields."""
    op, src, attr = node.op, node.src, node.attr
    # 1 is equal to True, and so are lanes of them
    lanes = attr[0] if op is _SHUFFLE and isinstance(attr[0], tuple) else ()
    types = (*map(type, attr), *map(type, lanes))
    return (op, node.dtype, src[0].op, *map(_dtype_of, src), attr, types)


def why_malformed(node: Node) -> str | None:
    """What is wrong with this node by itself, looking no further than its sources' dtypes."""
    op = node.op
    if op is _CONST and is_number(node):
        return None
    reason = why_bad_fields(node) if node.attr or FIELDS[op] else None
    if reason is not None:
        return reason
    if op in _VALUES_ONLY:
        for child in node.src:
            if type(child) is not Node or child.dtype is VOID:
                return "a source has no value"
    return _CHECKS[op](node)


_NUMBERS = frozenset((Kind.FLOAT, Kind.INT, Kind.UINT))
_BITS = frozenset((Kind.BOOL, Kind.INT, Kind.UINT))
_UNIFORM_KINDS: Mapping[str, tuple[frozenset[Kind], tuple[Op, ...]]] = {
    "a float": (
        frozenset((Kind.FLOAT,)),
        (
            *(Op.SQRT, Op.EXP2, Op.LOG2, Op.SIN, Op.COS, Op.TAN, Op.TANH, Op.ERF),
            *(Op.TRUNC, Op.FLOOR, Op.CEIL, Op.RINT, Op.FDIV, Op.POW),
        ),
    ),
    "an integer": (frozenset((Kind.INT, Kind.UINT)), (Op.IDIV, Op.MOD, Op.SHL, Op.SHR)),
    "an integer or bool": (_BITS, (Op.AND, Op.OR, Op.XOR, Op.NOT)),
    "a number or bool": (_NUMBERS | _BITS, (Op.MAX, Op.MIN)),
    "a number": (_NUMBERS, (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.MULACC)),
}
_WHAT = {op: what for what, (_, ops) in _UNIFORM_KINDS.items() for op in ops}
_UNIFORM: Mapping[Op, tuple[int, frozenset[Kind]]] = {
    op: (1 if op in UNARY else 2 if op in BINARY else 3, kinds)
    for kinds, ops in _UNIFORM_KINDS.values()
    for op in ops
}


def _bits_type(dtype: DType) -> bool:
    return dtype.kind in _BITS


def _alu(node: Node) -> str | None:
    count, kinds = _UNIFORM[node.op]
    reason = why_not_arity(node, count)
    if reason is None and any(child.dtype is not node.dtype for child in node.src):
        reason = f"sources are {dtypes_of(node)}, expected {node.dtype}"
    if reason is None and node.dtype.kind not in kinds:
        reason = f"dtype {node.dtype} is not {_WHAT[node.op]}"
    return reason


def _comparison(node: Node) -> str | None:
    if len(node.src) != 2:
        return why_not_arity(node, 2)
    a, b = node.src
    if a.dtype is not b.dtype:
        return f"compares {dtypes_of(node)}, expected equal dtypes"
    if node.dtype.scalar is not BOOL or node.dtype.count != a.dtype.count:
        return f"dtype {node.dtype}, a comparison of {a.dtype} is bool"
    return None


def _where(node: Node) -> str | None:
    reason = why_not_arity(node, 3)
    if reason is None and node.src[0].dtype is not BOOL.vec(node.dtype.count):
        reason = f"condition is {node.src[0].dtype}, expected bool with {node.dtype.count} lanes"
    if reason is None and not node.src[1].dtype is node.src[2].dtype is node.dtype:
        reason = f"branches are {dtypes_of(node)}, expected {node.dtype}"
    return reason


def _cast(node: Node) -> str | None:
    reason = why_not_arity(node, 1)
    if reason is None and node.src[0].dtype.count != node.dtype.count:
        reason = f"casts {node.src[0].dtype} to {node.dtype}: lanes differ"
    if reason is None and node.op is Op.BITCAST and node.src[0].dtype.bits != node.dtype.bits:
        reason = f"bitcasts {node.src[0].dtype} to {node.dtype}: widths differ"
    return reason


_BUFFERS = ARRAYS | {Op.LOCAL, Op.AFTER}


def _is_buffer(node: Node) -> bool:
    return node.op in _BUFFERS


def _scalar_leaf(node: Node) -> str | None:
    if node.dtype.count != 1 or node.dtype.kind is Kind.VOID:
        return f"dtype {node.dtype} is not a scalar"
    return why_not_arity(node, 0)


def _var(node: Node) -> str | None:
    if not node.dtype.is_int:
        return f"dtype {node.dtype} is not an integer"
    low, high = node.attr[1], node.attr[2]
    if not int(node.dtype.lowest) <= low <= high <= int(node.dtype.highest):
        return f"range {low}..{high} is empty or outside {node.dtype}"
    return _scalar_leaf(node)


def _load(node: Node) -> str | None:
    reason = why_not_arity(node, 1)
    if reason is None and node.src[0].op not in ARRAYS:
        reason = f"loads from {node.src[0].op.name}, expected BUFFER"
    if reason is None and node.dtype is not node.src[0].dtype:
        reason = f"dtype {node.dtype}, the buffer holds {node.src[0].dtype}"
    if reason is None and node.attr[0] is None:
        reason = "has no view"
    return reason


_OFFSETS = (INT32, INT64)


def _index(node: Node) -> str | None:
    if node.dtype not in _OFFSETS:
        return f"dtype {node.dtype}, an offset is int32 or int64"
    return "has no view" if node.attr[0] is None else why_not_arity(node, 0)


def _gather(node: Node) -> str | None:
    reason = why_not_arity(node, 2)
    if reason is None and node.src[0].op not in ARRAYS:
        reason = f"gathers from {node.src[0].op.name}, expected BUFFER"
    if reason is None and node.dtype is not node.src[0].dtype:
        reason = f"dtype {node.dtype}, the buffer holds {node.src[0].dtype}"
    if reason is None and node.src[1].dtype not in _OFFSETS:
        reason = f"offset is {node.src[1].dtype}, expected int32 or int64"
    return reason


def _store(node: Node) -> str | None:
    reason = why_not_arity(node, 2)
    if reason is None and node.src[0].op not in ARRAYS:
        reason = f"stores to {node.src[0].op.name}, expected BUFFER"
    if reason is None and node.src[1].dtype is not node.src[0].dtype:
        reason = f"stores {node.src[1].dtype} in a buffer of {node.src[0].dtype}, cast it first"
    if reason is None and (node.dtype is not VOID or node.attr[0] is None):
        reason = "is void and has a view"
    return reason


_BITWISE, _SUMS = frozenset((Op.AND, Op.OR, Op.XOR)), frozenset((Op.ADD, Op.MUL))


def _why_bad_reduction(op: Op, dtype: DType) -> str | None:
    if op not in REDUCTIONS:
        return f"reduces by {op.name}, use one of {' '.join(op.name for op in REDUCTIONS)}"
    if op in _BITWISE and not _bits_type(dtype):
        return f"reduces {dtype} by {op.name}, which needs integers or bool"
    if op in _SUMS and dtype.kind is Kind.BOOL:
        return f"reduces bool by {op.name}, cast to an integer first"
    return None


def _reduce(node: Node) -> str | None:
    reason = why_not_arity(node, 1) or _why_bad_reduction(node.attr[0], node.dtype)
    if reason is None and node.src[0].dtype is not node.dtype:
        reason = f"dtype {node.dtype} of a reduce over {node.src[0].dtype}"
    if reason is None and (not node.attr[1] or len(set(node.attr[1])) != len(node.attr[1])):
        reason = "names no axis, or one twice"
    return reason


_EFFECTS = frozenset((Op.STORE, Op.WRITE, Op.END, Op.LOOP, Op.BARRIER))


def _effects(node: Node) -> str | None:
    if node.dtype is not VOID or not node.src:
        return "is void and has at least one source"
    bad = [child.op for child in node.src if child.op not in _EFFECTS]
    return f"source {bad[0].name} has no effect" if bad else None


def _index_source(node: Node) -> str | None:
    reason = why_not_arity(node, 1)
    if reason is None and not (
        node.dtype.is_int and node.dtype.count == 1 and node.src[0].dtype is node.dtype
    ):
        reason = f"size is {node.src[0].dtype}, expected the integer dtype {node.dtype}"
    return reason


def _access(node: Node, value: int) -> str | None:
    """READ (value=0) and WRITE (value=1): buffer, integer offset, [value], [bool gate]."""
    if not 2 + value <= len(node.src) <= 3 + value:
        return why_not_arity(node, 2 + value, 3 + value)
    buffer, offset = node.src[:2]
    moved = node.src[2].dtype if value else node.dtype
    if buffer.op is Op.IMAGE and offset.dtype is PLACE:
        return why_no_pixel(node, is_write=bool(value))
    if buffer.op not in _BUFFERS:
        return f"accesses {buffer.op.name}, expected a buffer"
    if not offset.dtype.is_int or offset.dtype.count != 1:
        return f"offset is {offset.dtype}, expected a scalar integer"
    if moved.scalar is not buffer.dtype:
        return f"moves {moved}, the buffer holds {buffer.dtype}"
    if len(node.src) == 3 + value and node.src[-1].dtype not in (BOOL, BOOL.vec(moved.count)):
        return f"gate is {node.src[-1].dtype}, expected bool, of one lane or of {moved.count}"
    return f"dtype {node.dtype}, expected void" if value and node.dtype is not VOID else None


def _local(node: Node) -> str | None:
    return _scalar_leaf(node) or ("size is not positive" if node.attr[1] <= 0 else None)


def _after(node: Node) -> str | None:
    if len(node.src) < 2 or not _is_buffer(node.src[0]) or node.dtype is not node.src[0].dtype:
        return "is a buffer after at least one dependency"
    return None


def _void(node: Node) -> str | None:
    return None if node.dtype is VOID and node.src else "is void and has at least one source"


def _fold(node: Node) -> str | None:
    terms = node.attr[1]
    if not 1 <= terms <= len(node.src):
        return f"{terms} terms of {len(node.src)} sources"
    if [child for child in node.src[:terms] if child.dtype is not node.dtype]:
        return f"terms are {dtypes_of(node)}, expected {node.dtype}"
    if [child for child in node.src[terms:] if child.op is not _RANGE]:
        return "folds over something that is not a RANGE"
    return _why_bad_reduction(node.attr[0], node.dtype.scalar)


def _loop(node: Node) -> str | None:
    if (
        node.dtype is not VOID
        or len(node.src) != node.attr[0] + 3 * node.attr[1]
        or min(node.attr) < 1
    ):
        return "is void over ranges, inits, accs and values"
    ranges, inits, accs, values = loop_parts(node)
    if [each for each in ranges if each.op is not _RANGE] or [
        each for each in accs if each.op is not _ACC
    ]:
        return "ranges are RANGE nodes and accs are ACC nodes"
    if any(not a.dtype is b.dtype is c.dtype for a, b, c in zip(inits, accs, values, strict=True)):
        return "an accumulator, its init and its value differ in dtype"
    return None


def _result(node: Node) -> str | None:
    if len(node.src) == 1 and node.src[0].op is _LOOP:
        index, accs = node.attr[0], loop_accs(node.src[0])
        if not 0 <= index < len(accs):
            return f"index {index} of {len(accs)} accumulators"
        dtype = accs[index].dtype
        return None if dtype is node.dtype else f"dtype of an accumulator {dtype}"
    if len(node.src) == 2 and node.src[0].op is _ACC and node.src[1].op is _END:
        return (
            None
            if node.src[0].dtype is node.dtype
            else f"dtype of an accumulator {node.src[0].dtype}"
        )
    return "is the result of a LOOP, or of an ACC after its END"


def _assign(node: Node) -> str | None:
    if (
        len(node.src) < 2
        or node.src[0].op is not Op.ACC
        or node.src[1].dtype is not node.src[0].dtype
    ):
        return f"assigns {dtypes_of(node)}, expected an ACC and a value of its dtype"
    return _void(node)


def _end(node: Node) -> str | None:
    return _void(node) if node.src and node.src[0].op is Op.RANGE else "closes a RANGE"


def _if(node: Node) -> str | None:
    return (
        None
        if node.src and node.src[0].dtype is BOOL and node.dtype is VOID
        else "is void and has a bool condition"
    )


def _endif(node: Node) -> str | None:
    return None if node.src and node.src[0].op is Op.IF and node.dtype is VOID else "closes an IF"


_CHECKS: dict[Op, Callable[[Node], str | None]] = dict.fromkeys(_UNIFORM, _alu)
_CHECKS.update(dict.fromkeys(COMPARISONS, _comparison))
_CHECKS.update({
    Op.WHERE: _where,
    Op.CAST: _cast,
    Op.BITCAST: _cast,
    Op.BUFFER: _scalar_leaf,
    Op.IMAGE: why_no_image,
    Op.CONST: _scalar_leaf,
    Op.VAR: _var,
    Op.INDEX: _index,
    Op.LOAD: _load,
    Op.GATHER: _gather,
    Op.STORE: _store,
    Op.REDUCE: _reduce,
    Op.SINK: _effects,
    Op.RANGE: _index_source,
    Op.SPECIAL: _index_source,
    Op.READ: partial(_access, value=0),
    Op.WRITE: partial(_access, value=1),
    Op.LOCAL: _local,
    Op.BARRIER: _void,
    Op.AFTER: _after,
    Op.FOLD: _fold,
    Op.ACC: lambda node: why_not_arity(node, 0),
    Op.LOOP: _loop,
    Op.RESULT: _result,
    **VECTORS,
    Op.INIT: _assign,
    Op.SET: _assign,
    Op.END: _end,
    Op.IF: _if,
    Op.ENDIF: _endif,
    Op.PROGRAM: _void,
})  # fmt: skip
_VALUES_ONLY = ELEMENTWISE | frozenset(VECTORS) | {Op.REDUCE, Op.RANGE, Op.SPECIAL}
# Right or wrong by their fields, dtypes and the op of the first source alone.
_SIGNED = ELEMENTWISE | {
    *(Op.SPLAT, Op.STACK, Op.LANE, Op.SHUFFLE, Op.READ, Op.WRITE, Op.SET, Op.INIT),
}
