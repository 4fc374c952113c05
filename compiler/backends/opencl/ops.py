"""What OpenCL C adds to C: math functions, hardware indices, local memory."""

from collections.abc import Mapping
from functools import lru_cache

from compiler.backends.c_like import HANDLERS, Function, Handler, Text, say_write
from compiler.backends.opencl.pixels import image, write_pixel
from compiler.backends.opencl.types import memory_type
from compiler.ir import BOOL, FLOAT16, Node, Op

CALLS: Mapping[Op, str] = {
    Op.SQRT: "sqrt", Op.TRUNC: "trunc", Op.FLOOR: "floor", Op.CEIL: "ceil", Op.RINT: "rint",
    Op.EXP2: "exp2", Op.LOG2: "log2", Op.SIN: "sin", Op.COS: "cos", Op.TAN: "tan",
    Op.TANH: "tanh", Op.ERF: "erf", Op.POW: "pow", Op.MULACC: "fma",
}  # fmt: skip
_SPECIAL = Op.SPECIAL
_UNSIGNED = {8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}


def call(function: Function, node: Node) -> None:
    """A function of the language over scalars or vectors."""
    operands = ", ".join([function.operand(child).text for child in node.src])
    function.define(node, Text(f"{CALLS[node.op]}({operands})", is_atom=True))


def _mulacc(function: Function, node: Node) -> None:
    if node.dtype.is_float:
        call(function, node)
        return
    a, b, c = [function.operand(child) for child in node.src]
    wide = _UNSIGNED[max(32, node.dtype.bits)]
    total = f"({wide}){a} * ({wide}){b} + ({wide}){c}"
    function.define(node, Text(f"({function.type(node)})({total})"))


def _bitcast(function: Function, node: Node) -> None:
    origin, value = node.src[0].dtype, function.operand(node.src[0])
    kind = function.type(node)
    if node.dtype is BOOL or kind == function.type(node.src[0]):
        function.text[node] = value
    elif _is_integer_like(function, node) and _is_integer_like(function, node.src[0]):
        function.define(node, Text(f"({kind}){value}"))  # C may have made an int of a short
    elif origin.bits < 32 and not origin.is_float:
        function.define(
            node, Text(f"as_{kind}(({function.type(node.src[0])}){value})", is_atom=True)
        )
    else:
        function.define(node, Text(f"as_{kind}({value.text})", is_atom=True))


def _is_integer_like(function: Function, node: Node) -> bool:
    return node.dtype.is_int or function.type(node) == "ushort"


@lru_cache(maxsize=4)  # asked once for the kernel and once for each of its indices
def group_size(program: Node) -> Mapping[str, int]:
    """Work items of a group in each dimension that has a local index: {"0": 16}."""
    return {
        node.attr[0][-1]: int(node.src[0].value)
        for node in program.src
        if node.op is _SPECIAL and node.attr[0].startswith("local")
    }


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


def _lane(function: Function, node: Node) -> None:
    vector = function.operand(node.src[0])
    function.define(node, Text(f"{vector}.s{node.attr[0]:x}", is_atom=True))


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
    **HANDLERS,
    **dict.fromkeys(CALLS, call),
    Op.MULACC: _mulacc,
    Op.BITCAST: _bitcast,
    Op.LOCAL: _local,
    Op.BARRIER: _barrier,
    Op.SPECIAL: _special,
    Op.IMAGE: image,
    Op.LANE: _lane,
    Op.WRITE: _write,
}
