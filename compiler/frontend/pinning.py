"""Opts that are pinned for a whole program, so that targets may be compared bit by bit."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from compiler.ir import Node
from compiler.kernel import Opt, choose, from_ast
from compiler.options import DEFAULT, CompileOptions
from compiler.target import Target, find_target

MAX_CHOICES = 4096


@dataclass(frozen=True, slots=True)
class SameOpts:
    """The answer of `same_opts`. Kernels go along rows only if they do on all the targets."""

    choice: Callable[[Node], tuple[Opt, ...]]
    keeps_rows: bool

    def __call__(self, ast: Node, target: Target) -> tuple[Opt, ...]:
        """The opts for a kernel, whatever the target."""
        return self.choice(ast)


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
