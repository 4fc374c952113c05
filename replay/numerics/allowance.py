"""By how much the results of a kernel may be off for who computes its functions and products."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compiler import Compiled, Transcendental
from compiler.backends.reference import NATIVE_ULP, PORTABLE_ULP, Bound, evaluate_with_bound
from compiler.ir import Node, Op
from replay.numerics.inputs import Array

if TYPE_CHECKING:
    from compiler.ir import Core  # which older compilers lack


@dataclass(frozen=True, slots=True)
class Allowance:
    """The errors of functions, and the tensor core that adds up the kernel's products."""

    ulps: Mapping[Op, float]
    core: "Core | None" = None

    def bounds(
        self, ast: Node, given: Mapping[int, Array], variables: Mapping[str, int]
    ) -> dict[int, Bound]:
        """What a right kernel may leave in its buffers."""
        if self.core is None:  # as every compiler understands it
            return evaluate_with_bound(ast, given, variables, self.ulps)
        return evaluate_with_bound(ast, given, variables, self.ulps, self.core)


NATIVE = Allowance(NATIVE_ULP)


def allowance_of(compiled: Compiled) -> Allowance:
    """What the options and opts of a compile ask for. An older TC does not tell its core."""
    is_portable = compiled.options.math.transcendental is Transcendental.PORTABLE
    cores = [getattr(opt, "real_core", None) for opt in compiled.applied]
    core = next((found for found in cores if found is not None), None)
    return Allowance(PORTABLE_ULP if is_portable else NATIVE_ULP, core)
