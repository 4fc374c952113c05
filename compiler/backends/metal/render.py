"""A PROGRAM as one Metal kernel. Hardware indices are its outer loops."""

import math
from collections.abc import Mapping, Sequence

from compiler.backends.base import Argument
from compiler.backends.c_cores import called, function_of
from compiler.backends.c_like import Dialect, write_body
from compiler.backends.c_types import literal_writer, memory_type, type_namer
from compiler.backends.describe import group_size
from compiler.backends.metal.cores import CORE_CALLS
from compiler.backends.metal.ops import (
    CALLS,
    GROUP,
    INSIDE,
    ITEM,
    SCALAR_HANDLERS,
    VECTOR_HANDLERS,
    position,
)
from compiler.backends.names import Names
from compiler.errors import BuildError
from compiler.ir import BFLOAT16, DType, Node, Op
from compiler.target import Target

_HEAD = (
    "#include <metal_stdlib>",
    "#pragma METAL fp math_mode(safe)",  # else Metal reorders sums and forgets NaN
    "#pragma METAL fp contract(off)",
    "using namespace metal;",
)
_POSITIONS: Mapping[str, str] = {
    ITEM: "thread_position_in_grid",
    GROUP: "threadgroup_position_in_grid",
    INSIDE: "thread_position_in_threadgroup",
}
_MOST_ARGUMENTS = 31  # Metal Feature Set Tables: buffers of a compute function
_BUFFER, _SPECIAL = Op.BUFFER, Op.SPECIAL


def _bits_as(kind: str, value: str) -> str:
    return f"as_type<{kind}>({value})"


def _vector(kind: str, lanes: str) -> str:
    return f"{kind}({lanes})"


def _lanes(numbers: Sequence[int]) -> str:
    return "".join(["xyzw"[number] for number in numbers])


DIALECT = Dialect(
    "metal",
    "Metal",
    type_name=type_namer((2, 3, 4), has_half=True, has_double=False),
    literal=literal_writer(_bits_as, has_half=True),
    is_opaque=lambda dtype: dtype is BFLOAT16,
    bits_as=_bits_as,
    vector_of=_vector,
    convert=_vector,
    lanes=_lanes,
    either="||",
    calls=CALLS,
    cores=CORE_CALLS,
    scalars=SCALAR_HANDLERS,
    vectors=VECTOR_HANDLERS,
)


def render(program: Node, name: str, arguments: tuple[Argument, ...], target: Target) -> str:
    """The source of kernel `name`. Raises BuildError for what Metal lacks."""
    if len(arguments) > _MOST_ARGUMENTS:
        raise BuildError(
            f"metal: kernel {name} has {len(arguments)} arguments, and Metal has places for "
            f"{_MOST_ARGUMENTS}; realize() some of what it reads on the way"
        )
    stored: dict[int | str, DType] = {
        node.attr[0]: node.dtype for node in program.src if node.op is _BUFFER
    }
    names, signature = _parameters(arguments, stored)
    found = [position(program, node.attr[0]) for node in program.src if node.op is _SPECIAL]
    signature += [f"uint3 {each} [[{_POSITIONS[each]}]]" for each in dict.fromkeys(found)]
    body = write_body(program, name, DIALECT, names)
    functions = [function_of(node, DIALECT) for node in called(program, DIALECT).values()]
    group = group_size(program)
    items = f"[[max_total_threads_per_threadgroup({math.prod(group.values())})]]"
    head = f"kernel void {name}({', '.join(signature)}) {{"
    return "\n".join([*_HEAD, *functions, *([items] if group else []), head, body, "}", ""])


def _parameters(
    arguments: tuple[Argument, ...], stored: Mapping[int | str, DType]
) -> tuple[dict[int | str, str], list[str]]:
    """The name of each argument in the kernel, and the declarations."""
    names = Names()
    spelled: dict[int | str, str] = {}
    declared: list[str] = []
    for number, argument in enumerate(arguments):
        element = memory_type(stored.get(argument.key, argument.dtype), has_half=True)
        if argument.is_buffer:
            name = names.unique(argument.name)
            kind = f"{'' if argument.is_written else 'const '}device {element} *"
        else:
            name = names.variable(argument.name)
            kind = f"constant {element} &"
        spelled[argument.key] = name
        declared.append(f"{kind}{name} [[buffer({number})]]")
    return spelled, declared
