"""The loops of a recorded kernel after its opts: sizes, and what each loop is."""

from compiler import CompilerError
from compiler.ir import Spec, verify
from compiler.kernel import Kernel, apply_all, coloured_shape, from_ast, role_of, visible_length
from corpus import KernelRecord
from replay.capture.records import KIND
from replay.codec import decode_ast, decode_opts, decode_target
from replay.recorded import replayed_opts
from replay.subject import RefusedError


def kernel_of(record: KernelRecord) -> Kernel | None:
    """The kernel that a record asks for, under its opts; None where this compiler refuses it."""
    if record.kind != KIND:
        return None
    try:
        ast = decode_ast(record)
        verify(ast, Spec.KERNEL)
        opts = decode_opts(replayed_opts(record) or ())
        return apply_all(from_ast(ast), opts, decode_target(record))
    except (CompilerError, RefusedError):
        return None


def shape(kernel: Kernel | None, *, pad: int = 0) -> str:
    """The sizes of all loops, in the colours of their roles; `?` where there is no kernel."""
    text = "?" if kernel is None else coloured_shape(kernel, is_dense=True)
    return text + " " * (pad - visible_length(text))


def loops(kernel: Kernel) -> list[str]:
    """A line for each loop, outermost first."""
    return [f"{axis}  ({role_of(kernel, axis).value})" for axis in kernel.axes]
