"""Tensor cores: by how much more than IEEE 754 allows the sums of their products may be off.

A core that looks at the first `sees` bits of an operand may cut it short or round it. One that
flushes takes subnormals for 0, as operands and as sums. How a core of a GPU adds up is not told:
that it cuts off what does not fit is what was measured, so an addition counts for two roundings.
Sources: PTX ISA 8.7, 9.7.14.5; Intel SDM volume 2, VDPBF16PS; Fasi, Higham, Mikaitis and Pranesh,
Numerical behavior of NVIDIA tensor cores, 2021.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from compiler.backends.reference.bounds.approx import FORMATS, Approx, Format, make
from compiler.ir import Core, Node, Op, Rounding


@dataclass(frozen=True, slots=True)
class CoreErrors:
    """What a core does to the sums of products of a kernel. `products` are their MULs."""

    core: Core
    form: Format  # of an addition
    flushes: float  # magnitudes below may become 0
    products: frozenset[Node]

    def seen(self, value: Approx) -> Approx:
        """An operand as the core may take it."""
        error = np.zeros_like(value.value)
        size = np.where(np.isfinite(value.value), np.abs(value.value), 0.0)
        if self.core.sees is not None:
            mantissa, _ = np.frexp(size)
            scaled = mantissa * 2.0**self.core.sees
            error = np.where(scaled == np.trunc(scaled), 0.0, size * 2.0 ** (1 - self.core.sees))
        if self.flushes:
            error = np.where((size > 0) & (size < self.flushes), np.maximum(error, size), error)
        return make(value.value, value.slack + error, value.undecided)

    def added(self, terms: Approx, grain: float) -> Approx:
        """The terms of a sum, each with what is lost where its partial sum is flushed."""
        if not self.flushes or grain >= self.flushes:
            return terms
        return make(terms.value, terms.slack + self.flushes, terms.undecided)


def errors_of(core: Core | None, order: Iterable[Node]) -> CoreErrors | None:
    """What a core does to the floats of a kernel, all of whose REDUCEs it computes."""
    if core is None or not core.dtypes[2].is_float:
        return None
    form = FORMATS[core.dtypes[2]]
    if core.rounding is Rounding.ONCE:
        form = replace(form, unit=2 * form.unit)
    flushes = form.normal if core.rounding is Rounding.PAIRS else 0.0
    if flushes:
        form = replace(form, tiny=flushes)
    products = [_product(node.src[0]) for node in order if node.op is Op.REDUCE]
    return CoreErrors(core, form, flushes, frozenset(products))


def _product(term: Node) -> Node:
    """The MUL below a REDUCE, which may be cast to the dtype of the sum."""
    return term.src[0] if term.op is Op.CAST else term
