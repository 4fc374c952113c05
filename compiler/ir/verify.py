"""The checker that runs between passes: dtypes, arities and scoping of every node. A spec is a line in SPECS."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from weakref import WeakSet

from compiler.errors import VerifyError
from compiler.ir.dtype import BOOL, VOID, DType, Kind, wrap
from compiler.ir.node import Node, attr_nodes, toposort
from compiler.ir.op import (
    BINARY,
    COMPARISONS,
    ELEMENTWISE,
    FIELDS,
    REDUCTIONS,
    UNARY,
    AxisKind,
    Field,
    Op,
)
from compiler.ir.viewstack import ViewStack


class Spec(Enum):
    """What a stage may contain."""

    KERNEL = "kernel"  # an AST
    INDEXED = "indexed"  # loops and indices, scalar; FOLD over ranges of every kind
    EXPANDED = "expanded"  # no UPCAST or UNROLL range is left; vectors
    LOOPS = "loops"  # FOLD has become LOOP and RESULT
    LINEAR = "linear"  # one PROGRAM in order


@dataclass(frozen=True, slots=True)
class _Rules:
    ops: frozenset[Op]
    check_graph: Callable[[Node, list[Node]], str | None]


def verify(root: Node, spec: Spec, where: str = "kernel") -> None:
    """Raise VerifyError, naming `where`, unless the graph under `root` satisfies `spec`."""
    rules = _SPECS[spec]
    order = toposort(root)
    for node in order:
        reason = None
        if node.op not in rules.ops:
            reason = f"op {node.op.name} does not belong to the {spec.value} form"
        elif node not in _checked:
            reason = why_malformed(node)
            if reason is None:
                _checked.add(node)
        if reason is not None:
            raise VerifyError(f"{where}: {node!r}: {reason}")
    reason = rules.check_graph(root, order)
    if reason is not None:
        raise VerifyError(f"{where}: {reason}")


_checked: WeakSet[Node] = (
    WeakSet()
)  # nodes whose own dtype, arity and fields are right: a property of the node alone


def why_malformed(node: Node) -> str | None:
    """What is wrong with this node by itself, looking no further than its sources' dtypes."""
    if len(node.attr) != len(FIELDS[node.op]):
        return f"{len(node.attr)} fields, expected {len(FIELDS[node.op])}"
    for (name, kind), value in zip(FIELDS[node.op], node.attr, strict=True):
        if not _FIELD_CHECKS[kind](node, value):
            return f"field {name} is {str(value)[:60]}, which is not of kind {kind.name}"
    if any(not isinstance(child, Node) or child.dtype.kind is Kind.VOID for child in node.src) and (
        node.op in _VALUES_ONLY
    ):
        return "a source has no value"
    return _CHECKS[node.op](node)


def _is_size(node: Node, value: object) -> bool:
    if isinstance(value, Node):
        return value.dtype.is_int and value.dtype.count == 1
    return isinstance(value, int) and not isinstance(value, bool)


def _is_value(node: Node, value: object) -> bool:
    match node.dtype.kind:
        case Kind.BOOL:
            return isinstance(value, bool)
        case Kind.FLOAT:
            return isinstance(value, float)
        case Kind.VOID:
            return False
        case _:
            return (
                isinstance(value, int)
                and not isinstance(value, bool)
                and wrap(node.dtype, value) == value
            )


def _is_axes(node: Node, value: object) -> bool:
    return isinstance(value, tuple) and all(
        len(pair) == 2 and isinstance(pair[0], str) and _is_size(node, pair[1]) for pair in value
    )


_FIELD_CHECKS: Mapping[Field, Callable[[Node, object], bool]] = {
    Field.INT: lambda node, value: isinstance(value, int) and not isinstance(value, bool),
    Field.VALUE: _is_value,
    Field.NAME: lambda node, value: isinstance(value, str) and value != "",
    Field.NAMES: lambda node, value: (
        isinstance(value, tuple) and all(isinstance(name, str) for name in value)
    ),
    Field.SIZE: _is_size,
    Field.VIEWS: lambda node, value: (
        value is None or (isinstance(value, ViewStack) and len(value.views) > 0)
    ),
    Field.AXES: _is_axes,
    Field.OP: lambda node, value: isinstance(value, Op),
    Field.KIND: lambda node, value: isinstance(value, AxisKind),
}


def _dtypes(node: Node) -> str:
    return ", ".join(child.dtype.name for child in node.src) or "none"


def _arity(node: Node, *counts: int) -> str | None:
    if len(node.src) in counts:
        return None
    return f"{len(node.src)} sources, expected {' or '.join(map(str, counts))}"


def _same(node: Node, count: int, accepts: Callable[[DType], bool], what: str) -> str | None:
    reason = _arity(node, count)
    if reason is None and any(child.dtype is not node.dtype for child in node.src):
        reason = f"sources are {_dtypes(node)}, expected {node.dtype}"
    if reason is None and not accepts(node.dtype):
        reason = f"dtype {node.dtype} is not {what}"
    return reason


def _any_number(dtype: DType) -> bool:
    return dtype.is_float or dtype.is_int


def _bits_type(dtype: DType) -> bool:
    return dtype.is_int or dtype.kind is Kind.BOOL


def _orderable(dtype: DType) -> bool:
    return dtype.kind is not Kind.VOID


_FLOAT_OPS = frozenset(
    (
        Op.SQRT,
        Op.EXP2,
        Op.LOG2,
        Op.SIN,
        Op.COS,
        Op.TAN,
        Op.TANH,
        Op.ERF,
        Op.TRUNC,
        Op.FLOOR,
        Op.CEIL,
        Op.RINT,
    )
    + (Op.FDIV, Op.POW)
)
_INT_OPS = frozenset((Op.IDIV, Op.MOD, Op.SHL, Op.SHR))
_BIT_OPS = frozenset((Op.AND, Op.OR, Op.XOR, Op.NOT))


def _alu(node: Node) -> str | None:
    count = 1 if node.op in UNARY else 2
    if node.op in _FLOAT_OPS:
        return _same(node, count, lambda dtype: dtype.is_float, "a float")
    if node.op in _INT_OPS:
        return _same(node, count, lambda dtype: dtype.is_int, "an integer")
    if node.op in _BIT_OPS:
        return _same(node, count, _bits_type, "an integer or bool")
    if node.op in (Op.MAX, Op.MIN):
        return _same(node, count, _orderable, "a number or bool")
    return _same(node, count, _any_number, "a number")


def _comparison(node: Node) -> str | None:
    reason = _arity(node, 2)
    if reason is None and node.src[0].dtype is not node.src[1].dtype:
        reason = f"compares {_dtypes(node)}, expected equal dtypes"
    if reason is None and node.dtype is not BOOL.vec(node.src[0].dtype.count):
        reason = f"dtype {node.dtype}, a comparison of {node.src[0].dtype} is bool"
    return reason


def _where(node: Node) -> str | None:
    reason = _arity(node, 3)
    if reason is None and node.src[0].dtype is not BOOL.vec(node.dtype.count):
        reason = f"condition is {node.src[0].dtype}, expected bool with {node.dtype.count} lanes"
    if reason is None and not node.src[1].dtype is node.src[2].dtype is node.dtype:
        reason = f"branches are {_dtypes(node)}, expected {node.dtype}"
    return reason


def _cast(node: Node) -> str | None:
    reason = _arity(node, 1)
    if reason is None and node.src[0].dtype.count != node.dtype.count:
        reason = f"casts {node.src[0].dtype} to {node.dtype}: lanes differ"
    if reason is None and node.op is Op.BITCAST and node.src[0].dtype.bits != node.dtype.bits:
        reason = f"bitcasts {node.src[0].dtype} to {node.dtype}: widths differ"
    return reason


_BUFFERS = frozenset((Op.BUFFER, Op.LOCAL, Op.AFTER))


def _is_buffer(node: Node) -> bool:
    return node.op in _BUFFERS


def _scalar_leaf(node: Node) -> str | None:
    if node.dtype.count != 1 or node.dtype.kind is Kind.VOID:
        return f"dtype {node.dtype} is not a scalar"
    return _arity(node, 0)


def _var(node: Node) -> str | None:
    if not node.dtype.is_int:
        return f"dtype {node.dtype} is not an integer"
    low, high = node.attr[1], node.attr[2]
    if not int(node.dtype.lowest) <= low <= high <= int(node.dtype.highest):
        return f"range {low}..{high} is empty or outside {node.dtype}"
    return _scalar_leaf(node)


def _load(node: Node) -> str | None:
    reason = _arity(node, 1)
    if reason is None and node.src[0].op is not Op.BUFFER:
        reason = f"loads from {node.src[0].op.name}, expected BUFFER"
    if reason is None and node.dtype is not node.src[0].dtype:
        reason = f"dtype {node.dtype}, the buffer holds {node.src[0].dtype}"
    if reason is None and node.attr[0] is None:
        reason = "has no view"
    return reason


def _store(node: Node) -> str | None:
    reason = _arity(node, 2)
    if reason is None and node.src[0].op is not Op.BUFFER:
        reason = f"stores to {node.src[0].op.name}, expected BUFFER"
    if reason is None and node.src[1].dtype is not node.src[0].dtype:
        reason = f"stores {node.src[1].dtype} in a buffer of {node.src[0].dtype}, cast it first"
    if reason is None and (node.dtype is not VOID or node.attr[0] is None):
        reason = "is void and has a view"
    return reason


def _why_bad_reduction(op: Op, dtype: DType) -> str | None:
    if op not in REDUCTIONS:
        return f"reduces by {op.name}, use one of {' '.join(op.name for op in REDUCTIONS)}"
    if op in (Op.AND, Op.OR, Op.XOR) and not _bits_type(dtype):
        return f"reduces {dtype} by {op.name}, which needs integers or bool"
    if op in (Op.ADD, Op.MUL) and dtype.kind is Kind.BOOL:
        return f"reduces bool by {op.name}, cast to an integer first"
    return None


def _reduce(node: Node) -> str | None:
    reason = _arity(node, 1) or _why_bad_reduction(node.attr[0], node.dtype)
    if reason is None and node.src[0].dtype is not node.dtype:
        reason = f"dtype {node.dtype} of a reduce over {node.src[0].dtype}"
    if reason is None and (not node.attr[1] or len(set(node.attr[1])) != len(node.attr[1])):
        reason = "names no axis, or one twice"
    return reason


def _effects(node: Node) -> str | None:
    if node.dtype is not VOID or not node.src:
        return "is void and has at least one source"
    bad = [
        child.op.name
        for child in node.src
        if child.op not in (Op.STORE, Op.WRITE, Op.END, Op.LOOP, Op.BARRIER)
    ]
    return f"source {bad[0]} has no effect" if bad else None


def _index_source(node: Node) -> str | None:
    reason = _arity(node, 1)
    if reason is None and not (
        node.dtype.is_int and node.dtype.count == 1 and node.src[0].dtype is node.dtype
    ):
        reason = f"size is {node.src[0].dtype}, expected the integer dtype {node.dtype}"
    return reason


def _access(node: Node, value: int) -> str | None:
    """READ (value=0) and WRITE (value=1): buffer, integer offset, [value], [bool gate]."""
    reason = _arity(node, 2 + value, 3 + value)
    if reason is not None:
        return reason
    buffer, offset = node.src[:2]
    moved = node.src[2].dtype if value else node.dtype
    if not _is_buffer(buffer):
        return f"accesses {buffer.op.name}, expected a buffer"
    if not offset.dtype.is_int or offset.dtype.count != 1:
        return f"offset is {offset.dtype}, expected a scalar integer"
    if moved.scalar is not buffer.dtype:
        return f"moves {moved}, the buffer holds {buffer.dtype}"
    if len(node.src) == 3 + value and node.src[-1].dtype is not BOOL:
        return f"gate is {node.src[-1].dtype}, expected bool"
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
    if any(child.dtype is not node.dtype for child in node.src[:terms]):
        return f"terms are {_dtypes(node)}, expected {node.dtype}"
    if any(child.op is not Op.RANGE for child in node.src[terms:]):
        return "folds over something that is not a RANGE"
    return _why_bad_reduction(node.attr[0], node.dtype.scalar)


def loop_parts(
    loop: Node,
) -> tuple[tuple[Node, ...], tuple[Node, ...], tuple[Node, ...], tuple[Node, ...]]:
    """The ranges, inits, accs and values of a LOOP."""
    ranges, accs = loop.attr
    src = loop.src
    return (
        src[:ranges],
        src[ranges : ranges + accs],
        src[ranges + accs : ranges + 2 * accs],
        src[ranges + 2 * accs :],
    )


def _loop(node: Node) -> str | None:
    if (
        node.dtype is not VOID
        or len(node.src) != node.attr[0] + 3 * node.attr[1]
        or min(node.attr) < 1
    ):
        return "is void over ranges, inits, accs and values"
    ranges, inits, accs, values = loop_parts(node)
    if any(child.op is not Op.RANGE for child in ranges) or any(
        child.op is not Op.ACC for child in accs
    ):
        return "ranges are RANGE nodes and accs are ACC nodes"
    if any(not a.dtype is b.dtype is c.dtype for a, b, c in zip(inits, accs, values, strict=True)):
        return "an accumulator, its init and its value differ in dtype"
    return None


def _result(node: Node) -> str | None:
    if len(node.src) == 1 and node.src[0].op is Op.LOOP:
        _, _, accs, _ = loop_parts(node.src[0])
        if not 0 <= node.attr[0] < len(accs):
            return f"index {node.attr[0]} of {len(accs)} accumulators"
        return (
            None
            if accs[node.attr[0]].dtype is node.dtype
            else f"dtype of an accumulator {accs[node.attr[0]].dtype}"
        )
    if len(node.src) == 2 and node.src[0].op is Op.ACC and node.src[1].op is Op.END:
        return (
            None
            if node.src[0].dtype is node.dtype
            else f"dtype of an accumulator {node.src[0].dtype}"
        )
    return "is the result of a LOOP, or of an ACC after its END"


def _splat(node: Node) -> str | None:
    reason = _arity(node, 1)
    if reason is None and (node.dtype.count < 2 or node.src[0].dtype is not node.dtype.scalar):
        reason = f"{node.dtype} of {_dtypes(node)}"
    return reason


def _stack(node: Node) -> str | None:
    if len(node.src) != node.dtype.count or any(
        child.dtype is not node.dtype.scalar for child in node.src
    ):
        return f"{node.dtype} of {_dtypes(node)}"
    return None


def _lane(node: Node) -> str | None:
    reason = _arity(node, 1)
    if reason is None and not (
        node.src[0].dtype.count > node.attr[0] >= 0 and node.src[0].dtype.count > 1
    ):
        reason = f"lane {node.attr[0]} of {node.src[0].dtype}"
    if reason is None and node.dtype is not node.src[0].dtype.scalar:
        reason = f"dtype {node.dtype} of a lane of {node.src[0].dtype}"
    return reason


def _assign(node: Node) -> str | None:
    if (
        len(node.src) < 2
        or node.src[0].op is not Op.ACC
        or node.src[1].dtype is not node.src[0].dtype
    ):
        return f"assigns {_dtypes(node)}, expected an ACC and a value of its dtype"
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


_CHECKS: dict[Op, Callable[[Node], str | None]] = {op: _alu for op in UNARY | BINARY}
_CHECKS.update({op: _comparison for op in COMPARISONS})
_CHECKS.update({
    Op.WHERE: _where,
    Op.MULACC: lambda node: _same(node, 3, _any_number, "a number"),
    Op.CAST: _cast,
    Op.BITCAST: _cast,
    Op.BUFFER: _scalar_leaf,
    Op.CONST: _scalar_leaf,
    Op.VAR: _var,
    Op.LOAD: _load,
    Op.STORE: _store,
    Op.REDUCE: _reduce,
    Op.SINK: _effects,
    Op.RANGE: _index_source,
    Op.SPECIAL: _index_source,
    Op.READ: lambda node: _access(node, 0),
    Op.WRITE: lambda node: _access(node, 1),
    Op.LOCAL: _local,
    Op.BARRIER: _void,
    Op.AFTER: _after,
    Op.FOLD: _fold,
    Op.ACC: lambda node: _arity(node, 0),
    Op.LOOP: _loop,
    Op.RESULT: _result,
    Op.SPLAT: _splat,
    Op.STACK: _stack,
    Op.LANE: _lane,
    Op.INIT: _assign,
    Op.SET: _assign,
    Op.END: _end,
    Op.IF: _if,
    Op.ENDIF: _endif,
    Op.PROGRAM: _void,
})  # fmt: skip
_VALUES_ONLY = ELEMENTWISE | {Op.REDUCE, Op.SPLAT, Op.STACK, Op.LANE, Op.RANGE, Op.SPECIAL}


# --- whole graphs ---------------------------------------------------------------------------------------------------


def free_axes(order: list[Node], rank_names: tuple[str, ...]) -> dict[Node, frozenset[str]]:
    """For each node of an AST, the axes its value depends on and no REDUCE below it has closed."""
    free: dict[Node, frozenset[str]] = {}
    empty: frozenset[str] = frozenset()
    for node in order:
        below = [free[child] for child in node.src]
        axes = empty.union(*below) if len(below) > 1 else (below[0] if below else empty)
        if node.op is Op.LOAD or (node.op is Op.CONST and node.attr[1] is not None):
            axes = _axes_of_views(node.attr[0] if node.op is Op.LOAD else node.attr[1], rank_names)
        elif node.op is Op.REDUCE:
            axes = axes.difference(node.attr[1])
        free[node] = axes
    return free


def _axes_of_views(stack: ViewStack, names: tuple[str, ...]) -> frozenset[str]:
    view = stack.views[-1]
    moving = {name for name, stride in zip(names, view.strides, strict=True) if stride != 0}
    if view.mask is not None:
        bounded = zip(names, view.mask, view.shape, strict=True)
        moving |= {name for name, (low, high), size in bounded if (low, high) != (0, size)}
    return frozenset(moving)


def _check_kernel(root: Node, order: list[Node]) -> str | None:
    if root.op is not Op.SINK or any(node.op is Op.SINK for node in order[:-1]):
        return f"the root is {root.op.name}, expected the only SINK"
    names = tuple(name for name, _ in root.attr[0])
    shape = tuple(size for _, size in root.attr[0])
    if len(set(names)) != len(names):
        return f"axes {names}: two have the same name"
    if any(isinstance(size, int) and size < 1 for size in shape):
        return f"axes {root.attr[0]}: a size is not positive, an empty kernel is not compiled"
    return (
        _check_buffers(order)
        or _check_views(order, shape)
        or _check_symbolic(order)
        or _check_reduces(order, names)
    )  # fmt: skip


def _check_buffers(order: list[Node]) -> str | None:
    slots: dict[int, Node] = {}
    for node in order:
        if node.op is Op.BUFFER:
            if slots.setdefault(node.attr[0], node) is not node:
                return f"two buffers have slot {node.attr[0]}"
            if isinstance(node.attr[1], int) and node.attr[1] < 1:
                return f"buffer {node.attr[0]} has size {node.attr[1]}, expected at least 1"
    if sorted(slots) != list(range(len(slots))):
        return f"slots {sorted(slots)} do not count from 0"
    variables: dict[str, Node] = {}
    for node in order:
        if node.op is Op.VAR and variables.setdefault(node.attr[0], node) is not node:
            return f"two variables are named {node.attr[0]}"
    return None


def _check_views(order: list[Node], shape: tuple[object, ...]) -> str | None:
    for node in order:
        stack = node.attr[-1] if node.op in (Op.LOAD, Op.STORE, Op.CONST) else None
        if stack is None:
            continue
        if stack.shape != shape:
            return f"{node!r}: the view has shape {stack.shape}, the kernel's axes are {shape}"
        for view in stack.views:
            if any(isinstance(size, int) and size < 1 for size in view.shape):
                return f"{node!r}: view {view} has a size that is not positive"
            if len(view.shape) != len(view.strides) or (
                view.mask is not None and len(view.mask) != len(view.shape)
            ):
                return f"{node!r}: shape, strides and mask of a view differ in rank"
    return None


_SYMBOLIC = frozenset((Op.VAR, Op.CONST, Op.ADD, Op.SUB, Op.MUL, Op.IDIV, Op.MOD, Op.MAX, Op.MIN))


def _check_symbolic(order: list[Node]) -> str | None:
    symbolic = [size for node in order for size in attr_nodes(node)]
    for node in toposort(*symbolic):
        if node.op not in _SYMBOLIC:
            return f"a symbolic size contains {node.op.name}"
    return None


def _check_reduces(order: list[Node], names: tuple[str, ...]) -> str | None:
    reduced = {name for node in order if node.op is Op.REDUCE for name in node.attr[1]}
    if not reduced <= set(names):
        return f"a REDUCE names {sorted(reduced - set(names))}, the axes are {list(names)}"
    free = free_axes(order, names)
    inside: dict[Node, frozenset[str]] = {}
    for node in order:
        below = frozenset().union(*[inside[child] for child in node.src])
        if node.op is Op.REDUCE:
            if below & set(node.attr[1]):
                return f"nested REDUCEs both name {sorted(below & set(node.attr[1]))}"
            below |= set(node.attr[1])
        inside[node] = below
        if (
            node.op is Op.STORE
            and (free[node.src[1]] | _axes_of_views(node.attr[0], names)) & reduced
        ):
            axes = (free[node.src[1]] | _axes_of_views(node.attr[0], names)) & reduced
            return f"{node!r}: depends on reduce axes {sorted(axes)} outside their REDUCE"
    return None


def _check_lowered(root: Node, order: list[Node]) -> str | None:
    if root.op is not Op.SINK or any(node.op is Op.SINK for node in order[:-1]):
        return f"the root is {root.op.name}, expected the only SINK"
    return None


def _check_expanded(root: Node, order: list[Node]) -> str | None:
    for node in order:
        if node.op is Op.RANGE and node.attr[1] in (AxisKind.UPCAST, AxisKind.UNROLL):
            return f"{node!r}: an {node.attr[1].name} range is left"
    return _check_lowered(root, order)


def _check_loops(root: Node, order: list[Node]) -> str | None:
    owner: dict[Node, Node] = {}
    for node in order:
        if node.op is Op.LOOP:
            ranges, _, accs, _ = loop_parts(node)
            for child in (*ranges, *accs):
                if owner.setdefault(child, node) is not node:
                    return f"{child!r}: belongs to two loops"
    for node in order:
        if node.op is Op.ACC and node not in owner:
            return f"{node!r}: belongs to no loop"
        if node.op is Op.RANGE and node.attr[1] is AxisKind.REDUCE and node not in owner:
            return f"{node!r}: a REDUCE range that no LOOP closes"
    return _check_expanded(root, order)


def _check_linear(root: Node, order: list[Node]) -> str | None:
    """Every use after its definition and inside its scope; every RANGE and IF closed once, innermost first."""
    if root.op is not Op.PROGRAM:
        return f"the root is {root.op.name}, expected PROGRAM"
    if len(set(root.src)) != len(root.src):
        return "an instruction stands twice"
    visible: dict[Node, int] = {}  # instruction -> depth at which it was defined
    scopes: list[list[Node]] = [[]]
    opened: list[Node] = []
    initialized: set[Node] = set()
    for node in root.src:
        for child in node.src:
            if child not in visible and child.op is not Op.ACC:
                return f"{node!r}: uses {child!r} before its definition or outside its loop"
            if child.op is Op.ACC and node.op is not Op.INIT and child not in initialized:
                return f"{node!r}: uses {child!r} before its INIT"
        if node.op is Op.INIT:
            initialized.add(node.src[0])
        if node.op in (Op.END, Op.ENDIF):
            if not opened or opened[-1] is not node.src[0]:
                return f"{node!r}: closes {node.src[0]!r}, which is not the innermost open block"
            opened.pop()
            for gone in scopes.pop():
                visible.pop(gone, None)
        visible[node] = len(scopes)
        scopes[-1].append(node)
        if node.op in (Op.RANGE, Op.IF):
            opened.append(node)
            scopes.append([node])
    return f"{opened[-1]!r}: is never closed" if opened else None


_INDEXED_OPS = ELEMENTWISE | {
    Op.BUFFER, Op.VAR, Op.CONST, Op.RANGE, Op.READ, Op.WRITE, Op.FOLD, Op.LOCAL, Op.BARRIER, Op.AFTER, Op.SINK,
    Op.SPECIAL,
}  # fmt: skip
_EXPANDED_OPS = _INDEXED_OPS | {Op.SPLAT, Op.STACK, Op.LANE}
_LOOP_OPS = (_EXPANDED_OPS - {Op.FOLD}) | {Op.ACC, Op.LOOP, Op.RESULT}
_LINEAR_OPS = (_LOOP_OPS - {Op.LOOP, Op.SINK}) | {
    Op.INIT,
    Op.SET,
    Op.END,
    Op.IF,
    Op.ENDIF,
    Op.PROGRAM,
}
_SPECS: dict[Spec, _Rules] = {
    Spec.KERNEL: _Rules(
        ELEMENTWISE | {Op.BUFFER, Op.VAR, Op.CONST, Op.LOAD, Op.REDUCE, Op.STORE, Op.SINK},
        _check_kernel,
    ),
    Spec.INDEXED: _Rules(_INDEXED_OPS, _check_lowered),
    Spec.EXPANDED: _Rules(_EXPANDED_OPS, _check_expanded),
    Spec.LOOPS: _Rules(_LOOP_OPS, _check_loops),
    Spec.LINEAR: _Rules(frozenset(_LINEAR_OPS), _check_linear),
}
