"""What OpenCL C adds to vectors: loads from memory and images, math functions, tensor cores."""

from collections.abc import Mapping

from compiler.backends.c_cores import wmma
from compiler.backends.c_like import Function, Handler, call, define_read
from compiler.backends.c_vectors import VECTORS
from compiler.backends.opencl.ops import CALLS
from compiler.backends.opencl.pixels import read_pixel
from compiler.ir import BOOL, Node, Op


def _read(function: Function, node: Node) -> None:
    if node.src[0].op is Op.IMAGE:
        read_pixel(function, node)
        return
    count = node.dtype.count
    if node.dtype.scalar is BOOL:
        function.type(node)  # refuses
    buffer, offset = function.operand(node.src[0]), function.operand(node.src[1])
    define_read(function, node, f"vload{count}(0, {buffer} + {offset})")


VECTOR_HANDLERS: Mapping[Op, Handler] = {
    **dict.fromkeys(CALLS, call),
    **VECTORS,
    Op.READ: _read,
    Op.WMMA: wmma,
}
