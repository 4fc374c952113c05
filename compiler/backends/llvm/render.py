"""A PROGRAM as one LLVM function: void NAME(ptr buffer..., iN variable..., i64 lo, i64 hi).

The outermost GLOBAL range runs from lo to hi, so that threads can share it; without one, lo and hi
mean nothing. Accumulators are stack slots: LLVM's first pass turns them into registers.
"""

from compiler.backends.base import Argument
from compiler.backends.describe import outermost_range
from compiler.backends.llvm.cores import wmma
from compiler.backends.llvm.elementwise import ELEMENTWISE_HANDLERS, Handler
from compiler.backends.llvm.function import Function
from compiler.backends.llvm.streams import (
    DEFINITION,
    FENCE,
    LINE_BYTES,
    MARK,
    is_streamed,
    streamed,
)  # fmt: skip
from compiler.backends.llvm.types import literal, memory_type, suffix, type_text, zero
from compiler.ir import BOOL, UINT8, DType, Kind, Node, Op, acc_of
from compiler.target import Target

_UINT = Kind.UINT
ALIGNMENT = 64  # of local memory: a cache line


def render(program: Node, name: str, arguments: tuple[Argument, ...], target: Target) -> str:
    """The module that holds `program` as function `name`. Raises BuildError for what LLVM lacks."""
    function = Function(name, outermost_range(program))
    function.streamed = streamed(arguments, target.capabilities.streamed_bytes)
    signature = [_declare(function, argument) for argument in arguments]
    for node in program.src:
        handler = _HANDLERS.get(node.op)
        if handler is None:
            raise function.refuse(node, f"{target.backend} has no such op")
        handler(function, node)
    fences = [FENCE] if function.has_streams else []
    lines = ["entry:", *function.slots, *function.lines, *function.freed, *fences, "  ret void"]
    body = "\n".join(lines)
    declarations = "".join([f"declare {text}\n" for text in function.declared])
    parameters = ", ".join([*signature, "i64 %lo", "i64 %hi"])
    metadata = DEFINITION if function.has_streams else ""
    return f"{declarations}define void @{name}({parameters}) nounwind {{\n{body}\n}}\n{metadata}"


def _declare(function: Function, argument: Argument) -> str:
    if not argument.is_buffer:
        text = f"%{function.names.variable(argument.name)}"
        function.parameters[argument.key] = text
        return f"{type_text(argument.dtype)} {text}"
    text = f"%{function.names.unique(argument.name)}"
    function.parameters[argument.key] = text
    return f"ptr noalias {'' if argument.is_written else 'readonly '}{text}"


# --- leaves and memory ---


def _parameter(function: Function, node: Node) -> None:
    text = function.parameters.get(node.attr[0])
    if text is None:
        raise function.refuse(node, "is not among the arguments")
    function.text[node] = text


def _const(function: Function, node: Node) -> None:
    if node.attr[1] is not None:
        raise function.refuse(node, "a constant with a view has to be lowered first")
    function.text[node] = literal(node.dtype, node.attr[0])


def _local(function: Function, node: Node) -> None:
    """Memory of this call: on the heap, where it is as large as a cache and stacks are not."""
    size = -(-node.attr[1] * max(1, node.dtype.itemsize) // ALIGNMENT) * ALIGNMENT
    function.declared["ptr @aligned_alloc(i64, i64)"] = None
    function.declared["void @free(ptr)"] = None
    text = f"%{function.names.numbered('local')}"
    function.slots.append(f"  {text} = call ptr @aligned_alloc(i64 {ALIGNMENT}, i64 {size})")
    function.freed.append(f"  call void @free(ptr {text})")
    function.text[node] = text


def _after(function: Function, node: Node) -> None:
    function.text[node] = function.text[node.src[0]]


def _address(function: Function, node: Node) -> str:
    buffer, offset = node.src[0], node.src[1]
    base, index, kind = function.text[buffer], function.text[offset], type_text(offset.dtype)
    if offset.dtype.kind is _UINT and offset.dtype.bits < 64:  # else it is read as signed
        index, kind = function.step("wide", f"zext {kind} {index} to i64"), "i64"
    element = memory_type(buffer.dtype)
    return function.step("at", f"getelementptr inbounds {element}, ptr {base}, {kind} {index}")


def _read(function: Function, node: Node) -> None:
    if len(node.src) == 3:
        gated = _gated_read if node.src[2].dtype.count == 1 else _masked_read
        gated(function, node)
        return
    function.text[node] = _load(function, node)


def _load(function: Function, node: Node) -> str:
    dtype = node.dtype
    at = _address(function, node)
    load = f"load {memory_type(dtype)}, ptr {at}, align {dtype.itemsize}"
    value = function.step("read", load)
    if dtype.scalar is not BOOL:
        return value
    return function.step("bool", f"icmp ne {memory_type(dtype)} {value}, {zero(dtype)}")


def _masked_read(function: Function, node: Node) -> None:
    dtype, mask = node.dtype, function.text[node.src[2]]
    at, kind, gate = _address(function, node), memory_type(dtype), type_text(node.src[2].dtype)
    symbol = f"@llvm.masked.load.{_memory_suffix(dtype)}.p0"
    function.declared[f"{kind} {symbol}(ptr, {gate}, {kind})"] = None
    given = f"ptr align {dtype.scalar.itemsize} {at}, {gate} {mask}, {kind} zeroinitializer"
    value = function.step("read", f"call {kind} {symbol}({given})")
    if dtype.scalar is BOOL:
        value = function.step("bool", f"icmp ne {kind} {value}, {zero(dtype)}")
    function.text[node] = value


def _masked_write(function: Function, node: Node) -> None:
    dtype, value = node.src[2].dtype, function.text[node.src[2]]
    mask, gate = function.text[node.src[3]], type_text(node.src[3].dtype)
    at, kind = _address(function, node), memory_type(dtype)
    if dtype.scalar is BOOL:
        value = function.step("byte", f"zext {type_text(dtype)} {value} to {kind}")
    symbol = f"@llvm.masked.store.{_memory_suffix(dtype)}.p0"
    function.declared[f"void {symbol}({kind}, ptr, {gate})"] = None
    given = f"{kind} {value}, ptr align {dtype.scalar.itemsize} {at}, {gate} {mask}"
    function.lines.append(f"  call void {symbol}({given})")


def _memory_suffix(dtype: DType) -> str:
    return suffix(UINT8.vec(dtype.count) if dtype.scalar is BOOL else dtype)


def _gated_read(function: Function, node: Node) -> None:
    gate, before = function.text[node.src[2]], function.block
    then, end = function.names.numbered("then"), function.names.numbered("endif")
    function.lines.append(f"  br i1 {gate}, label %{then}, label %{end}")
    function.open_block(then)
    value = _load(function, node)
    function.lines.append(f"  br label %{end}")
    function.open_block(end)
    nothing = "zeroinitializer"
    kind = type_text(node.dtype)
    function.assign(node, f"phi {kind} [ {value}, %{then} ], [ {nothing}, %{before} ]")


def _write(function: Function, node: Node) -> None:
    if len(node.src) == 3:
        _store(function, node)
        return
    if node.src[3].dtype.count > 1:
        _masked_write(function, node)
        return
    then, end = function.names.numbered("then"), function.names.numbered("endif")
    function.lines.append(f"  br i1 {function.text[node.src[3]]}, label %{then}, label %{end}")
    function.open_block(then)
    _store(function, node)
    function.lines.append(f"  br label %{end}")
    function.open_block(end)


def _store(function: Function, node: Node) -> None:
    dtype, value = node.src[2].dtype, function.text[node.src[2]]
    at = _address(function, node)
    kind = memory_type(dtype)
    if dtype.scalar is BOOL:
        value = function.step("byte", f"zext {type_text(dtype)} {value} to {kind}")
    store = f"  store {kind} {value}, ptr {at}"
    if function.streamed and is_streamed(node, function.streamed):
        function.has_streams = True
        function.lines.append(f"{store}, align {LINE_BYTES}, {MARK}")
    else:
        function.lines.append(f"{store}, align {dtype.itemsize}")


# --- loops, accumulators, blocks ---


def _range(function: Function, node: Node) -> None:
    kind, size = type_text(node.dtype), function.text[node.src[0]]
    start = "0"
    if node is function.outermost:
        start, size = "%lo", "%hi"
        if node.dtype.bits < 64:
            start = function.step("lo", f"trunc i64 %lo to {kind}")
            size = function.step("hi", f"trunc i64 %hi to {kind}")
    name, before = function.names.axis(node.attr[0]), function.block
    less = "slt" if node.dtype.kind is Kind.INT else "ult"
    function.lines.append(f"  br label %{name}.head")
    function.open_block(f"{name}.head")
    function.lines += [
        f"  %{name} = phi {kind} [ {start}, %{before} ], [ %{name}.next, %{name}.last ]",
        f"  %{name}.more = icmp {less} {kind} %{name}, {size}",
        f"  br i1 %{name}.more, label %{name}.body, label %{name}.done",
    ]
    function.open_block(f"{name}.body")
    function.text[node] = f"%{name}"


def _end(function: Function, node: Node) -> None:
    _close(function, node.src[0])


def _loop(function: Function, node: Node) -> None:
    for axis in reversed(node.src[: node.attr[0]]):
        _close(function, axis)


def _close(function: Function, axis: Node) -> None:
    index, kind = function.text[axis], type_text(axis.dtype)
    function.lines.append(f"  br label {index}.last")
    function.open_block(f"{index[1:]}.last")
    function.lines += [
        f"  {index}.next = add nuw nsw {kind} {index}, 1",
        f"  br label {index}.head",
    ]
    function.open_block(f"{index[1:]}.done")


def _init(function: Function, node: Node) -> None:
    acc, dtype = node.src[0], node.src[0].dtype
    if acc not in function.slot_of:
        function.slot_of[acc] = f"%{function.names.numbered('slot')}"
        function.slots.append(f"  {function.slot_of[acc]} = alloca {type_text(dtype)}")
    _set(function, node)


def _set(function: Function, node: Node) -> None:
    acc, value = node.src[0], node.src[1]
    text = function.text[value]
    function.lines.append(f"  store {type_text(acc.dtype)} {text}, ptr {function.slot_of[acc]}")


def _result(function: Function, node: Node) -> None:
    function.text[node] = function.load_acc(acc_of(node))


def _if(function: Function, node: Node) -> None:
    label = function.names.numbered("if")
    function.lines.append(
        f"  br i1 {function.text[node.src[0]]}, label %{label}, label %{label}.end"
    )
    function.open_block(label)
    function.text[node] = label


def _endif(function: Function, node: Node) -> None:
    label = function.text[node.src[0]]
    function.lines.append(f"  br label %{label}.end")
    function.open_block(f"{label}.end")


_HANDLERS: dict[Op, Handler] = {
    **ELEMENTWISE_HANDLERS,
    Op.WMMA: wmma,
    Op.BUFFER: _parameter,
    Op.VAR: _parameter,
    Op.CONST: _const,
    Op.AFTER: _after,
    Op.LOCAL: _local,
    Op.READ: _read,
    Op.WRITE: _write,
    Op.ACC: lambda function, node: None,  # read where it is used
    Op.INIT: _init,
    Op.SET: _set,
    Op.RESULT: _result,
    Op.RANGE: _range,
    Op.END: _end,
    Op.LOOP: _loop,
    Op.IF: _if,
    Op.ENDIF: _endif,
}
