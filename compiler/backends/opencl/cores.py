"""Tensor cores of GPUs in OpenCL C: a function for each core. To add one: a line in CALLS.

Fragments arrive as vectors, their elements in the order of the core's layouts; numbers of 16 bits
may be `ushort` or `half`. What is called belongs to the vendor's compiler, not to OpenCL.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from compiler.backends.c_like import Function, Text
from compiler.ir import DType, Node, Op

_WMMA = Op.WMMA


@dataclass(frozen=True, slots=True)
class Call:
    """How one core is spelled. `body` is given `a`, `b` and `c`, and ends with a `return`."""

    body: tuple[str, ...]
    source: str  # where the spelling is documented
    extension: str | None = None
    attribute: str | None = None  # of the kernel


def _mma(shape: str, kind: str, a: int, b: int) -> Call:
    """PTX in an asm statement: registers of 32 bits, as the layouts number them."""
    results, left, right = [
        "{" + ", ".join([f"%{n}" for n in range(start, start + count)]) + "}"
        for start, count in ((0, 4), (4, a), (4 + a, b))
    ]
    outputs = ", ".join([f'"+f"(c{n})' for n in range(4)])
    inputs = [f'"r"({name}.s{n})' for name, count in (("x", a), ("y", b)) for n in range(count)]
    text = f"mma.sync.aligned.{shape}.row.col.f32.{kind}.{kind}.f32"
    return Call(
        (
            f"const uint{a} x = as_uint{a}(a);",
            f"const uint{b} y = as_uint{b}(b);",
            "float c0 = c.s0, c1 = c.s1, c2 = c.s2, c3 = c.s3;",
            f'__asm__ volatile("{text} {results}, {left}, {right}, {results};"',
            f"        : {outputs}",
            f"        : {', '.join(inputs)});",
            "return (float4)(c0, c1, c2, c3);",
        ),
        "PTX ISA 8.7, 9.7.14.5",
    )


def _amd(function: str, operand: str, more: str = "") -> Call:
    """A builtin of the compiler that AMD's drivers share with LLVM."""
    given = f"as_{operand}(a), as_{operand}(b), c{more}"
    return Call((f"return __builtin_amdgcn_{function}({given});",), "LLVM, BuiltinsAMDGPU.def")


def _dpas(kind: str) -> Call:
    function = f"intel_sub_group_{kind}_{kind}_matrix_mad_k16"
    return Call(
        (f"return {function}(as_int8(a), as_int8(b), c);",),
        "cl_intel_subgroup_matrix_multiply_accumulate, revision 1, sub-groups of 8",
        "cl_intel_subgroup_matrix_multiply_accumulate",
        "__attribute__((intel_reqd_sub_group_size(8)))",
    )


_NO_MORE = ", 0, 0, 0"  # of MFMA: no broadcast of a, no permutation of b
CALLS: Mapping[str, Call] = {
    "nvidia.m16n8k16.f16": _mma("m16n8k16", "f16", 4, 2),
    "nvidia.m16n8k16.bf16": _mma("m16n8k16", "bf16", 4, 2),
    "nvidia.m16n8k8.tf32": _mma("m16n8k8", "tf32", 4, 2),
    "amd.wmma16x16x16.f16": _amd("wmma_f32_16x16x16_f16_w32", "half16"),
    "amd.wmma16x16x16.bf16": _amd("wmma_f32_16x16x16_bf16_w32", "short16"),
    "amd.mfma16x16x16.f16": _amd("mfma_f32_16x16x16f16", "half4", _NO_MORE),
    "amd.mfma16x16x16.bf16": _amd("mfma_f32_16x16x16bf16_1k", "short4", _NO_MORE),
    "intel.dpas8x8x16.f16": _dpas("f16"),
    "intel.dpas8x8x16.bf16": _dpas("bf16"),
}


def wmma(function: Function, node: Node) -> None:
    """One product of a core, added to the total so far."""
    if node.attr[0] not in CALLS:
        raise function.refuse(node, f"core {node.attr[0]} has no spelling in OpenCL C")
    operands = ", ".join([function.operand(child).text for child in node.src])
    function.define(node, Text(f"{_symbol(node.attr[0])}({operands})", is_atom=True))


def called(program: Node) -> dict[str, Node]:
    """The cores of a program that have a spelling, by name, each with the first of its products."""
    found: dict[str, Node] = {}
    for node in program.src:
        if node.op is _WMMA and node.attr[0] in CALLS:
            found.setdefault(node.attr[0], node)
    return found


def function_of(node: Node, type_name: Callable[[DType], str | None]) -> str:
    """The function that the products of a core call."""
    parameters = [
        f"{type_name(child.dtype)} {letter}" for child, letter in zip(node.src, "abc", strict=True)
    ]
    head = f"static {type_name(node.dtype)} {_symbol(node.attr[0])}({', '.join(parameters)}) {{"
    return "\n".join([head, *[f"  {line}" for line in CALLS[node.attr[0]].body], "}"])


def _symbol(core: str) -> str:
    return core.replace(".", "_")
