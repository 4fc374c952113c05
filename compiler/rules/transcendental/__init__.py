"""Transcendental functions as IEEE operations. To add one: a line in FORMULAS, a line in _FOUND."""

from collections.abc import Callable, Mapping

from compiler.ir import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, DType, Node, Op
from compiler.rules.builder import Builder
from compiler.rules.transcendental.erf import erf
from compiler.rules.transcendental.exp2 import exp2
from compiler.rules.transcendental.expression import Expr
from compiler.rules.transcendental.log2 import log2
from compiler.rules.transcendental.pow import power
from compiler.rules.transcendental.tanh import tanh
from compiler.rules.transcendental.waves import cos, sin, tan

Decomposition = Callable[[Builder, Node], Node]

FORMULAS: Mapping[Op, Callable[..., Expr]] = {
    Op.EXP2: exp2,
    Op.LOG2: log2,
    Op.SIN: sin,
    Op.COS: cos,
    Op.TAN: tan,
    Op.TANH: tanh,
    Op.ERF: erf,
    Op.POW: power,
}


def _decomposition(formula: Callable[..., Expr]) -> Decomposition:
    def decompose(builder: Builder, node: Node) -> Node:
        dtype = node.dtype.scalar
        computed = FLOAT32 if dtype.bits == 16 else dtype
        sources = [Expr(child, builder) for child in node.src]
        if computed is dtype:
            return formula(*sources).node
        return formula(*[source.cast(computed) for source in sources]).cast(dtype).node

    return decompose


DECOMPOSITIONS: Mapping[Op, Decomposition] = {
    op: _decomposition(formula) for op, formula in FORMULAS.items()
}

# Greatest error in units of the last place of the exact result: what was found, and a margin.
# float32 was tried against float64 on all arguments of EXP2, on every 37th and 10**7 more of the
# other unary functions, and on 6 * 10**7 pairs of POW; float64 against quad precision on 3 * 10**6
# to 8 * 10**6 arguments of each. The 16-bit types round a float32 result once.
_FOUND: Mapping[Op, tuple[float, float]] = {  # float32, float64
    Op.EXP2: (1.3, 1.3),
    Op.LOG2: (0.9, 1.0),
    Op.SIN: (0.9, 0.9),
    Op.COS: (0.9, 0.9),
    Op.TAN: (1.3, 1.3),
    Op.TANH: (1.5, 1.5),
    Op.ERF: (1.5, 1.7),
    Op.POW: (1.6, 1.5),
}
MAX_ULP: Mapping[tuple[Op, DType], float] = {
    **{(op, FLOAT32): single for op, (single, _) in _FOUND.items()},
    **{(op, FLOAT64): double for op, (_, double) in _FOUND.items()},
    **{(op, dtype): 0.51 for op in FORMULAS for dtype in (FLOAT16, BFLOAT16)},
}

__all__ = ["DECOMPOSITIONS", "MAX_ULP"]
