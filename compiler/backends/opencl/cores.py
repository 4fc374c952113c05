"""Tensor cores of GPUs in OpenCL C: a function for each core. To add one: a line in CORE_CALLS.

Fragments arrive as vectors, their elements in the order of the core's layouts; numbers of 16 bits
may be `ushort` or `half`. What is called belongs to the vendor's compiler, not to OpenCL.
"""

from collections.abc import Mapping

from compiler.backends.c_like import CoreCall


def _mma(shape: str, kind: str, a: int, b: int) -> CoreCall:
    """PTX in an asm statement: registers of 32 bits, as the layouts number them."""
    results, left, right = [
        "{" + ", ".join([f"%{n}" for n in range(start, start + count)]) + "}"
        for start, count in ((0, 4), (4, a), (4 + a, b))
    ]
    outputs = ", ".join([f'"+f"(c{n})' for n in range(4)])
    inputs = [f'"r"({name}.s{n})' for name, count in (("x", a), ("y", b)) for n in range(count)]
    text = f"mma.sync.aligned.{shape}.row.col.f32.{kind}.{kind}.f32"
    return CoreCall(
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


def _amd(function: str, operand: str, more: str = "") -> CoreCall:
    """A builtin of the compiler that AMD's drivers share with LLVM."""
    given = f"as_{operand}(a), as_{operand}(b), c{more}"
    return CoreCall((f"return __builtin_amdgcn_{function}({given});",), "LLVM, BuiltinsAMDGPU.def")


def _dpas(kind: str) -> CoreCall:
    function = f"intel_sub_group_{kind}_{kind}_matrix_mad_k16"
    return CoreCall(
        (f"return {function}(as_int8(a), as_int8(b), c);",),
        "cl_intel_subgroup_matrix_multiply_accumulate, revision 1, sub-groups of 8",
        "cl_intel_subgroup_matrix_multiply_accumulate",
        "__attribute__((intel_reqd_sub_group_size(8)))",
    )


_NO_MORE = ", 0, 0, 0"  # of MFMA: no broadcast of a, no permutation of b
CORE_CALLS: Mapping[str, CoreCall] = {
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
