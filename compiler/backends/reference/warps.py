"""Tensor cores, executed: every work item's elements are put where its lane's layout says."""

from functools import cache

import numpy as np

from compiler.backends.reference.arithmetic import Array, apply, numpy_dtype
from compiler.errors import DeviceError
from compiler.ir import FLOAT32, Core, Layout, Op, Rounding

_SMALLEST = float(np.finfo(np.float32).tiny)  # the smallest normal number


def multiply(core: Core, a: Array, b: Array, c: Array) -> Array:
    """The elements of a * b + c that each work item holds.

    Arrays are (..., work items of a warp, elements). Raises DeviceError where work items that are
    to hold the same element hold different ones.
    """
    left = _matrix(core, core.a, "mk", a)
    right = _matrix(core, core.b, "kn", b)
    total = _matrix(core, core.c, "mn", c)
    with np.errstate(all="ignore"):
        result = _SUMS[core.rounding](core, left, right, total)
    rows, columns = _places(core, core.c, "mn")
    return np.asarray(result[..., rows, columns])


@cache
def _places(core: Core, layout: Layout, axes: str) -> tuple[Array, Array]:
    """The place in a matrix of each element of each work item."""
    shape = (core.items, layout.count)
    first, second = [
        np.array(
            [layout.position(axis, item, e) for item in range(shape[0]) for e in range(shape[1])]
        ).reshape(shape)
        for axis in axes
    ]
    return first, second


def _matrix(core: Core, layout: Layout, axes: str, held: Array) -> Array:
    first, second = _places(core, layout, axes)
    sizes = (core.size(axes[0]), core.size(axes[1]))
    matrix = np.zeros((*held.shape[:-2], *sizes), held.dtype)
    matrix[..., first, second] = held
    if not np.array_equal(_bits(matrix[..., first, second]), _bits(held)):
        raise DeviceError(f"WMMA {core.name}: work items hold different copies of an element")
    return matrix


def _bits(value: Array) -> Array:
    return np.frombuffer(np.ascontiguousarray(value).tobytes(), np.uint8)


def _sum_each(core: Core, a: Array, b: Array, c: Array) -> Array:
    """One fused step after the other; integers of any width wrap."""
    dtype = core.dtypes[2]
    left, right = [x.astype(numpy_dtype(dtype)) for x in (a, b)]
    for k in range(core.size("k")):
        step = np.broadcast_arrays(left[..., :, k, None], right[..., None, k, :], c)
        c = apply(Op.MULACC, dtype, dtype, *step)
    return c


def _sum_once(core: Core, a: Array, b: Array, c: Array) -> Array:
    """In float64, rounded at the end."""
    left, right = [_seen(core, x.astype(np.float64)) for x in (a, b)]
    return np.asarray((left @ right + c.astype(np.float64)).astype(numpy_dtype(core.dtypes[2])))


def _seen(core: Core, value: Array) -> Array:
    """Operands with the bits that the core looks at, ties away from zero."""
    if core.sees is None:
        return value
    mantissa, exponent = np.frexp(value)
    scaled = mantissa * (1 << core.sees)
    rounded = np.where(
        np.isfinite(value), np.trunc(scaled + np.copysign(0.5, scaled)) / (1 << core.sees), value
    )
    return np.asarray(np.ldexp(rounded, exponent))


def _sum_pairs(core: Core, a: Array, b: Array, c: Array) -> Array:
    """Fused steps from the last term to the first, subnormals flushed before and after each."""
    left, right = [_flushed(x.astype(np.float32)) for x in (a, b)]
    for k in reversed(range(core.size("k"))):
        factors = np.broadcast_arrays(left[..., :, k, None], right[..., None, k, :], _flushed(c))
        c = _flushed(apply(Op.MULACC, FLOAT32, FLOAT32, *factors))
    return c


def _flushed(value: Array) -> Array:
    return np.where(np.abs(value) < _SMALLEST, np.copysign(np.float32(0), value), value)


_SUMS = {Rounding.EACH: _sum_each, Rounding.ONCE: _sum_once, Rounding.PAIRS: _sum_pairs}
