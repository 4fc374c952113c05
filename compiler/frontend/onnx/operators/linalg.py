"""Matrix products and their like."""

from compiler.frontend.functions.determinant import det
from compiler.frontend.functions.einsum import einsum
from compiler.frontend.functions.elementwise import add, multiply
from compiler.frontend.functions.linalg import matmul
from compiler.frontend.functions.movement import matrix_transpose
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Operator


def _matmul(call: Call) -> Value:
    return matmul(call.value(0), call.value(1))


def _gemm(call: Call) -> Value:
    a, b, c = call.value(0), call.value(1), call.optional(2)
    left = matrix_transpose(a) if call.attribute("transA", 0) else a
    right = matrix_transpose(b) if call.attribute("transB", 0) else b
    product = _scaled(matmul(left, right), float(call.attribute("alpha", 1.0)))
    return product if c is None else add(product, _scaled(c, float(call.attribute("beta", 1.0))))


def _scaled(x: Value, factor: float) -> Value:
    return x if factor == 1.0 else multiply(x, factor)


def _einsum(call: Call) -> Value:
    return einsum(call.attribute("equation", ""), *call.values())


def _det(call: Call) -> Value:
    return det(call.value(0))


OPERATORS: dict[str, Operator] = {
    "Det": _det,
    "Einsum": _einsum,
    "Gemm": _gemm,
    "MatMul": _matmul,
}
