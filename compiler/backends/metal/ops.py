"""What Metal adds to C++: math functions, indices, threadgroup memory, packed vectors in memory."""

from collections.abc import Mapping

from compiler.backends.c_cores import wmma
from compiler.backends.c_like import (
    STATEMENTS,
    Function,
    Handler,
    Text,
    call,
    define_read,
    say_write,
)
from compiler.backends.c_scalars import SCALARS
from compiler.backends.c_types import memory_type
from compiler.backends.c_vectors import VECTORS, lane
from compiler.backends.describe import buffer_of, group_size
from compiler.ir import BOOL, Node, Op

CALLS: Mapping[Op, str] = {
    Op.SQRT: "sqrt", Op.TRUNC: "trunc", Op.FLOOR: "floor", Op.CEIL: "ceil", Op.RINT: "rint",
    Op.EXP2: "exp2", Op.LOG2: "log2", Op.SIN: "sin", Op.COS: "cos", Op.TAN: "tan",
    Op.TANH: "tanh", Op.POW: "pow", Op.MULACC: "fma",
}  # fmt: skip  # there is no erf
_LOCAL, _AXES = Op.LOCAL, "xyz"
ITEM, GROUP, INSIDE = "item", "group", "inside"  # positions: in the grid, of a group, in a group


def position(program: Node, index: str) -> str:
    """Which position an index (group0 to group2, local0 to local2) of a program is part of."""
    if index.startswith("local"):
        return INSIDE
    return GROUP if index[-1] in group_size(program) else ITEM


def _special(function: Function, node: Node) -> None:
    name = node.attr[0]
    if name[:-1] not in ("group", "local") or name[-1] not in "012":
        raise function.refuse(node, "an index is one of group0 to group2, local0 to local2")
    variable = function.names.unique(name)
    place = f"{position(function.program, name)}.{_AXES[int(name[-1])]}"
    function.say(f"{function.type(node)} {variable} = {place};")
    function.text[node] = Text(variable, is_atom=True)


def _local(function: Function, node: Node) -> None:
    name = function.names.axis(node.attr[0])
    element = memory_type(node.dtype, has_half=True)
    function.top.append(f"  threadgroup {element} {name}[{node.attr[1]}];")
    function.text[node] = Text(name, is_atom=True)


def _barrier(function: Function, node: Node) -> None:
    function.say("threadgroup_barrier(mem_flags::mem_threadgroup);")


def _packed(function: Function, node: Node, vector: Node, access: str) -> str:
    """A vector in memory, which is aligned to its elements alone."""
    place = "threadgroup" if buffer_of(node.src[0]).op is _LOCAL else "device"
    buffer, offset = function.operand(node.src[0]), function.operand(node.src[1])
    return f"*({access}{place} packed_{function.type(vector)}*)({buffer} + {offset})"


def _read(function: Function, node: Node) -> None:
    if node.dtype.scalar is BOOL:
        function.type(node)  # refuses
    define_read(function, node, f"{function.type(node)}({_packed(function, node, node, 'const ')})")


def _write(function: Function, node: Node) -> None:
    buffer, offset, value = [function.operand(child) for child in node.src[:3]]
    stored = node.src[2]
    place = f"{buffer}[{offset.text}]"
    if stored.dtype.count > 1:
        place = _packed(function, node, stored, "")
    say_write(function, node, f"{place} = {value.text};")


SCALAR_HANDLERS: Mapping[Op, Handler] = {
    **STATEMENTS,
    **dict.fromkeys(CALLS, call),
    **SCALARS,
    Op.LOCAL: _local,
    Op.BARRIER: _barrier,
    Op.SPECIAL: _special,
    Op.LANE: lane,
    Op.WRITE: _write,
}
VECTOR_HANDLERS: Mapping[Op, Handler] = {
    **dict.fromkeys(CALLS, call),
    **VECTORS,
    Op.READ: _read,
    Op.WMMA: wmma,
}
