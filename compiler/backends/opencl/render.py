"""A PROGRAM as one OpenCL C 1.2 kernel. Hardware indices are its outer loops."""

from compiler.backends.base import Argument
from compiler.backends.c_like import Dialect, write_body
from compiler.backends.names import Names
from compiler.backends.opencl.ops import SCALAR_HANDLERS, special_handler
from compiler.backends.opencl.types import literal_writer, memory_type, type_namer
from compiler.backends.opencl.vectors import VECTOR_HANDLERS
from compiler.ir import BFLOAT16, FLOAT16, DType, Node, Op
from compiler.target import Target


def render(program: Node, name: str, arguments: tuple[Argument, ...], target: Target) -> str:
    """The source of kernel `name`. Raises BuildError for what OpenCL C lacks."""
    has_half = target.capabilities.float16
    group = _group_size(program)
    grouped = frozenset(str(dimension) for dimension in group)
    dialect = Dialect(
        target.backend,
        type_namer(has_half=has_half),
        literal_writer(has_half=has_half),
        lambda dtype: dtype is BFLOAT16 or (dtype is FLOAT16 and not has_half),
        {**SCALAR_HANDLERS, Op.SPECIAL: special_handler(grouped)},
        VECTOR_HANDLERS,
    )
    stored: dict[int | str, DType] = {
        node.attr[0]: node.dtype for node in program.src if node.op is Op.BUFFER
    }
    names, signature = _parameters(arguments, stored, has_half=has_half)
    body = write_body(program, name, dialect, names)
    size = ", ".join([str(group.get(dimension, 1)) for dimension in range(3)])
    attribute = f"__attribute__((reqd_work_group_size({size}))) " if group else ""
    head = f"__kernel {attribute}void {name}({', '.join(signature)}) {{"
    return "\n".join([*_pragmas(program, arguments, has_half=has_half), head, body, "}", ""])


def _group_size(program: Node) -> dict[int, int]:
    """Work items of a group in each dimension that has a local index."""
    return {
        int(node.attr[0][-1]): int(node.src[0].value)
        for node in program.src
        if node.op is Op.SPECIAL and node.attr[0].startswith("local")
    }


def _parameters(
    arguments: tuple[Argument, ...], stored: dict[int | str, DType], *, has_half: bool
) -> tuple[dict[int | str, str], list[str]]:
    """The name of each argument in the kernel, and the declarations."""
    names = Names()
    spelled: dict[int | str, str] = {}
    declared: list[str] = []
    for argument in arguments:
        if argument.is_buffer:
            spelled[argument.key] = names.unique(argument.name)
            dtype = stored.get(argument.key, argument.dtype)
            access = "" if argument.is_written else "const "
            element = memory_type(dtype, has_half=has_half)
            declared.append(f"{access}__global {element} *restrict {spelled[argument.key]}")
        else:
            spelled[argument.key] = names.variable(argument.name)
            kind = memory_type(argument.dtype, has_half=has_half)
            declared.append(f"const {kind} {spelled[argument.key]}")
    return spelled, declared


def _pragmas(program: Node, arguments: tuple[Argument, ...], *, has_half: bool) -> list[str]:
    used = [argument.dtype.name for argument in arguments]
    used += [node.dtype.scalar.name for node in program.src]
    lines = ["#pragma OPENCL FP_CONTRACT OFF"]
    if "float64" in used:
        lines.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
    if has_half and "float16" in used:
        lines.append("#pragma OPENCL EXTENSION cl_khr_fp16 : enable")
    return lines
