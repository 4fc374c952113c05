"""What ONNX says of an operator: its inputs, outputs and attributes in one version."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import onnx

from compiler.ir import FLOAT32, FLOAT64, DType

_NAMES = {FLOAT32: "float", FLOAT64: "double"}


@lru_cache(maxsize=1024)  # a table of ONNX's, which never changes
def schema_of(op: str, domain: str, opset: int) -> onnx.defs.OpSchema | None:
    """The newest version of an operator that an opset has; None for what is not ONNX's."""
    try:
        return onnx.defs.get_schema(op, opset, domain)
    except onnx.defs.SchemaError:
        return None


@dataclass(frozen=True, slots=True)
class Formal:
    """One input of an operator as its schema says it; all of one `variable` have one dtype."""

    variable: str | None
    types: frozenset[str]


@lru_cache(maxsize=1024)  # likewise
def formals_of(op: str, domain: str, opset: int) -> tuple[tuple[Formal, ...], bool]:
    """The inputs of an operator, and whether there may be any number of the last one."""
    schema = schema_of(op, domain, opset)
    if schema is None or not schema.inputs:
        return (), False
    variables = {item.type_param_str for item in schema.type_constraints}
    is_open = schema.inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    formals = [
        Formal(
            item.type_str if item.type_str in variables and item.is_homogeneous else None,
            frozenset(item.types),
        )
        for item in schema.inputs
    ]
    return tuple(formals), is_open


def result_dtypes(
    op: str, domain: str, opset: int, dtypes: Sequence[DType | None]
) -> tuple[DType | None, ...]:
    """The dtypes of the results that follow from those of the inputs; None: something else says."""
    schema = schema_of(op, domain, opset)
    if schema is None:
        return ()
    formals, is_open = formals_of(op, domain, opset)
    bound: dict[str, DType] = {}
    for place, dtype in enumerate(dtypes):
        if dtype is not None and formals and (place < len(formals) or is_open):
            variable = formals[min(place, len(formals) - 1)].variable
            if variable is not None:
                bound.setdefault(variable, dtype)
    return tuple([bound.get(item.type_str) for item in schema.outputs])


def why_wrong(op: str, domain: str, opset: int, dtypes: Sequence[DType | None]) -> str | None:
    """What is wrong with inputs of these dtypes (None: left out, or no tensor), if anything."""
    formals, is_open = formals_of(op, domain, opset)
    bound: dict[str, tuple[int, DType]] = {}
    for place, dtype in enumerate(dtypes):
        if dtype is None or not formals or (place >= len(formals) and not is_open):
            continue
        formal = formals[min(place, len(formals) - 1)]
        if f"tensor({_NAMES.get(dtype, dtype.name)})" not in formal.types:
            return f"input {place} is {dtype}, which it does not take in opset {opset}"
        if formal.variable is not None:
            first, wanted = bound.setdefault(formal.variable, (place, dtype))
            if wanted is not dtype:
                return f"input {place} is {dtype}, but input {first} is {wanted}: cast one of them"
    return None
