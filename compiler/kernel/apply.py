"""Applying opts in order, all or none."""

from compiler.errors import IllegalOptError
from compiler.kernel.kernel import Kernel, Opt
from compiler.kernel.opts import OPTS
from compiler.kernel.positional import Positional, resolve
from compiler.kernel.spelling import format_opt
from compiler.target import Target


def apply_all(kernel: Kernel, opts: tuple[Opt, ...], target: Target) -> Kernel:
    """`kernel` with every opt applied. Raises IllegalOptError, naming the first illegal opt."""
    for opt in opts:
        if not isinstance(opt, (*OPTS, Positional)):
            raise IllegalOptError(f"{opt!r}: is not an opt, use one of {_known()}")
        if isinstance(opt, Positional):
            named = resolve(opt, kernel, target)
            if isinstance(named, str):
                raise IllegalOptError(f"{format_opt(opt)}: {named}")
            opt = named
        reason = opt.why_illegal(kernel, target)
        if reason is not None:
            raise IllegalOptError(f"{format_opt(opt)}: {reason}")
        kernel = opt.apply(kernel)
    return kernel


def _known() -> str:
    return " ".join([opt.op for opt in OPTS])
