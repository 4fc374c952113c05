"""What OpenCL C adds to C: math functions, hardware indices, local memory."""

from collections.abc import Mapping

from compiler.backends.c_like import STATEMENTS, Function, Handler, Text, call, say_write
from compiler.backends.c_scalars import SCALARS
from compiler.backends.c_types import memory_type
from compiler.backends.c_vectors import lane
from compiler.backends.describe import group_size
from compiler.backends.opencl.pixels import image, write_pixel
from compiler.ir import FLOAT16, Node, Op

CALLS: Mapping[Op, str] = {
    Op.SQRT: "sqrt", Op.TRUNC: "trunc", Op.FLOOR: "floor", Op.CEIL: "ceil", Op.RINT: "rint",
    Op.EXP2: "exp2", Op.LOG2: "log2", Op.SIN: "sin", Op.COS: "cos", Op.TAN: "tan",
    Op.TANH: "tanh", Op.ERF: "erf", Op.POW: "pow", Op.MULACC: "fma",
}  # fmt: skip


def _special(function: Function, node: Node) -> None:
    name = node.attr[0]
    kind, dimension = name[:-1], name[-1]
    if kind not in ("group", "local") or dimension not in "012":
        raise function.refuse(node, "an index is one of group0 to group2, local0 to local2")
    call = f"get_{kind}_id({dimension})"
    if kind == "group" and dimension not in group_size(function.program):
        call = f"get_global_id({dimension})"  # the driver may form groups as it likes
    variable = function.names.unique(name)
    function.say(f"{function.type(node)} {variable} = {call};")
    function.text[node] = Text(variable, is_atom=True)


def _local(function: Function, node: Node) -> None:
    name = function.names.axis(node.attr[0])
    element = memory_type(node.dtype, has_half=function.type_name(FLOAT16) == "half")
    function.top.append(f"  __local {element} {name}[{node.attr[1]}];")
    function.text[node] = Text(name, is_atom=True)


def _barrier(function: Function, node: Node) -> None:
    function.say("barrier(CLK_LOCAL_MEM_FENCE);")


def _write(function: Function, node: Node) -> None:
    if node.src[0].op is Op.IMAGE:
        write_pixel(function, node)
        return
    buffer, offset, value = [function.operand(child) for child in node.src[:3]]
    count = node.src[2].dtype.count
    if count == 1:
        say_write(function, node, f"{buffer}[{offset.text}] = {value.text};")
    else:
        say_write(function, node, f"vstore{count}({value.text}, 0, {buffer} + {offset});")


SCALAR_HANDLERS: Mapping[Op, Handler] = {
    **STATEMENTS,
    **dict.fromkeys(CALLS, call),
    **SCALARS,
    Op.LOCAL: _local,
    Op.BARRIER: _barrier,
    Op.SPECIAL: _special,
    Op.IMAGE: image,
    Op.LANE: lane,
    Op.WRITE: _write,
}
