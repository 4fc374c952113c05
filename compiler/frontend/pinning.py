"""Opts that are pinned for a whole program, so that targets may be compared bit by bit."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from compiler.errors import IllegalOptError
from compiler.ir import Node, Op, intern, substitute, toposort
from compiler.kernel import Opt, apply_all, choose, from_ast
from compiler.options import DEFAULT, CompileOptions, Heuristics, ScheduleOptions
from compiler.target import Target, find_target

MAX_CHOICES = 4096
_REQUIRED = CompileOptions(schedule=ScheduleOptions(heuristics=Heuristics.NONE))


@dataclass(frozen=True, slots=True)
class SameOpts:
    """The answer of `same_opts`. Kernels go along rows only if they do on all the targets."""

    choice: Callable[[Node], tuple[Opt, ...]]
    keeps_rows: bool

    def __call__(self, ast: Node, target: Target) -> tuple[Opt, ...]:
        """The opts for a kernel, whatever the target, and whatever of it lies in images.

        On a target with images also those that it needs: pixels are written whole, which takes
        lanes along an output. Where UNROLL alone had lanes, sums are then in another order.
        """
        opts = self.choice(_in_buffers(ast))
        if not target.capabilities.images:
            return opts
        try:
            return choose(apply_all(from_ast(ast), opts, target), target, _REQUIRED)
        except IllegalOptError:  # what is pinned leaves no such lanes
            return choose(from_ast(ast), target, _REQUIRED)


def _in_buffers(ast: Node) -> Node:
    """The same kernel without images."""
    return substitute(
        ast,
        {
            node: intern(Op.BUFFER, node.dtype, (), node.attr[:2])
            for node in toposort(ast)
            if node.op is Op.IMAGE
        },
    )


def same_opts(*targets: str, options: CompileOptions = DEFAULT) -> SameOpts:
    """For `compiling(choose=...)`: one choice for all these targets, so that they sum alike.

    It is the first target's own choice, less what one of the others does not take. Without targets
    no kernel gets any opts.
    """
    found = [find_target(target) for target in targets]

    @lru_cache(maxsize=MAX_CHOICES)
    def choice(ast: Node) -> tuple[Opt, ...]:
        kernel = from_ast(ast)
        if not found:
            return ()
        for opt in choose(kernel, found[0], options):
            if all(opt.why_illegal(kernel, target) is None for target in found):
                kernel = opt.apply(kernel)
        return kernel.applied

    return SameOpts(choice, not any(target.capabilities.has_local for target in found))
