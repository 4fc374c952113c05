"""Apple's tensor cores: products of 8 x 8 matrices that a SIMD-group holds, two elements an item.

To add one: a line in CORE_CALLS. Which item holds which elements is no part of Metal's
specification; the layouts of compiler.ir.CORES say where theirs are from.
"""

from collections.abc import Mapping

from compiler.backends.c_like import CoreCall


def _simdgroup(operand: str) -> CoreCall:
    return CoreCall(
        (
            f"simdgroup_{operand}8x8 x, y;",
            "simdgroup_float8x8 z;",
            "x.thread_elements() = a;",
            "y.thread_elements() = b;",
            "z.thread_elements() = c;",
            "simdgroup_multiply_accumulate(z, x, y, z);",
            "return z.thread_elements();",
        ),
        "Metal Shading Language 3.2, 6.7.2",
    )


CORE_CALLS: Mapping[str, CoreCall] = {
    "apple.simdgroup8x8.f32": _simdgroup("float"),
    "apple.simdgroup8x8.f16": _simdgroup("half"),
}
