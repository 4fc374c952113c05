"""The name of a kernel: what it is, its loops, and a digest of its AST and opts."""

import hashlib
import re

from compiler.ir import ARRAYS, Node, Op, Size, print_node, toposort
from compiler.kernel.kernel import Kernel
from compiler.kernel.spelling import format_opts

_MOVES_ONLY = ARRAYS | {Op.VAR, Op.CONST, Op.LOAD, Op.GATHER, Op.STORE, Op.SINK}
_DIGEST_DIGITS = 12
_SHAPE_CHARACTERS = 48  # longer shapes are cut off, the digest tells them apart


def kernel_name(kernel: Kernel) -> str:
    """A C identifier that depends on the kernel alone, e.g. r_128_8_3f2a90b1c4d5."""
    shape = "_".join([_size(axis.size) for axis in kernel.axes])[:_SHAPE_CHARACTERS]
    text = print_node(kernel.ast) + format_opts(kernel.applied)
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_DIGITS]
    return "_".join([part for part in (_kind(kernel.ast), shape, digest) if part])


def _kind(ast: Node) -> str:
    """r reduces, C only copies, E computes; then the number of outputs if there are several."""
    ops = [node.op for node in toposort(ast)]
    letter = "r" if Op.REDUCE in ops else "C" if _MOVES_ONLY.issuperset(ops) else "E"
    outputs = len({node.src[0] for node in ast.src})
    return letter if outputs == 1 else f"{letter}{outputs}"


def _size(size: Size) -> str:
    if isinstance(size, int):
        return str(size)
    names = [node.attr[0] for node in toposort(size) if node.op is Op.VAR]
    return re.sub(r"[^A-Za-z0-9]", "", "".join(names)) or "n"
