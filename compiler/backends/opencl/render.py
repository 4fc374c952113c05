"""A PROGRAM as one OpenCL C 1.2 kernel. Hardware indices are its outer loops."""

from collections.abc import Iterable, Sequence

from compiler.backends.base import Argument
from compiler.backends.c_cores import called, function_of
from compiler.backends.c_like import Dialect, write_body
from compiler.backends.c_types import literal_writer, memory_type, type_namer
from compiler.backends.describe import group_size
from compiler.backends.names import Names
from compiler.backends.opencl.cores import CORE_CALLS
from compiler.backends.opencl.ops import CALLS, SCALAR_HANDLERS
from compiler.backends.opencl.vectors import VECTOR_HANDLERS
from compiler.ir import BFLOAT16, FLOAT16, FLOAT64, DType, Node, Op
from compiler.target import Target


def _bits_as(kind: str, value: str) -> str:
    return f"as_{kind}({value})"


def _lanes(numbers: Sequence[int]) -> str:
    return "s" + "".join([f"{number:x}" for number in numbers])


def _dialect(*, has_half: bool) -> Dialect:
    return Dialect(
        "opencl",
        "OpenCL C",
        type_name=type_namer((2, 3, 4, 8, 16), has_half=has_half),
        literal=literal_writer(_bits_as, has_half=has_half),
        is_opaque=lambda dtype: dtype is BFLOAT16 or (dtype is FLOAT16 and not has_half),
        bits_as=_bits_as,
        vector_of=lambda kind, lanes: f"({kind})({lanes})",
        convert=lambda kind, value: f"convert_{kind}({value})",
        lanes=_lanes,
        either="|",
        calls=CALLS,
        cores=CORE_CALLS,
        scalars=SCALAR_HANDLERS,
        vectors=VECTOR_HANDLERS,
    )


WITH_HALF, WITHOUT_HALF = _dialect(has_half=True), _dialect(has_half=False)
_BUFFER = Op.BUFFER


def render(program: Node, name: str, arguments: tuple[Argument, ...], target: Target) -> str:
    """The source of kernel `name`. Raises BuildError for what OpenCL C lacks."""
    has_half = target.capabilities.float16
    stored: dict[int | str, DType] = {
        node.attr[0]: node.dtype for node in program.src if node.op is _BUFFER
    }
    has_images = target.capabilities.images
    names, signature = _parameters(arguments, stored, has_half=has_half, has_images=has_images)
    dialect = WITH_HALF if has_half else WITHOUT_HALF
    body = write_body(program, name, dialect, names)
    cores = called(program, dialect)
    functions = [function_of(node, dialect) for node in cores.values()]
    head = f"__kernel {_attributes(program, cores)}void {name}({', '.join(signature)}) {{"
    pragmas = [*_pragmas(program, arguments, has_half=has_half), *_extensions(cores)]
    return "\n".join([*pragmas, *functions, head, body, "}", ""])


def _attributes(program: Node, cores: Iterable[str]) -> str:
    """What the compiler has to know of the work-group, each followed by a blank."""
    group = group_size(program)
    size = ", ".join([str(group.get(dimension, 1)) for dimension in "012"])
    found = [f"__attribute__((reqd_work_group_size({size})))"] if group else []
    needed = [CORE_CALLS[core].attribute for core in cores]
    found += dict.fromkeys([attribute for attribute in needed if attribute is not None])
    return "".join([f"{attribute} " for attribute in found])


def _extensions(cores: Iterable[str]) -> list[str]:
    needed = [CORE_CALLS[core].extension for core in cores]
    named = dict.fromkeys([extension for extension in needed if extension is not None])
    return [f"#pragma OPENCL EXTENSION {name} : enable" for name in named]


def _parameters(
    arguments: tuple[Argument, ...],
    stored: dict[int | str, DType],
    *,
    has_half: bool,
    has_images: bool,
) -> tuple[dict[int | str, str], list[str]]:
    """The name of each argument in the kernel, and the declarations."""
    names = Names()
    spelled: dict[int | str, str] = {}
    declared: list[str] = []
    for argument in arguments:
        if argument.width is not None and has_images:
            spelled[argument.key] = names.unique(argument.name)
            access = "__write_only" if argument.is_written else "__read_only"
            declared.append(f"{access} image2d_t {spelled[argument.key]}")
        elif argument.is_buffer:
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
    dtypes = {node.dtype for node in program.src}  # asked below, never iterated in its own order
    used = {argument.dtype for argument in arguments} | {dtype.scalar for dtype in dtypes}
    lines = ["#pragma OPENCL FP_CONTRACT OFF"]
    if FLOAT64 in used:
        lines.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
    if has_half and FLOAT16 in used:
        lines.append("#pragma OPENCL EXTENSION cl_khr_fp16 : enable")
    return lines
