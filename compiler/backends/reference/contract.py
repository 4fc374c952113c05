"""Sums of products as matrix multiplications, and reductions of repeated values."""

import math

import numpy as np

from compiler.backends.reference.algebra import Extents
from compiler.backends.reference.arithmetic import Array


def repeat(value: Array, extents: Extents) -> Array:
    """`value` with the full size on every reduced dimension; shares memory."""
    shape = list(value.shape)
    for dimension, size in extents:
        shape[dimension] = size
    return np.broadcast_to(value, shape)


def sum_products(a: Array, b: Array, extents: Extents) -> Array:
    """The float64 sum of a * b over `extents`, in any order, whose dimensions stay with size 1."""
    factor = 1.0
    for dimension, size in extents:
        if a.shape[dimension] == 1 and b.shape[dimension] == 1:
            factor *= size
        elif a.shape[dimension] == 1:
            b = b.sum(dimension, keepdims=True)
        elif b.shape[dimension] == 1:
            a = a.sum(dimension, keepdims=True)
    result = _multiply(a, b, frozenset([dimension for dimension, _ in extents]))
    return result if factor == 1.0 else result * factor


def sum_special(a: Array, b: Array, extents: Extents) -> Array:
    """What the infinities and NaNs among the products a * b add up to: 0 where there are none.

    Counts them by sign, for the products themselves would be NaN wherever an infinity is not.
    """
    plus = minus = nan = np.zeros((1,) * a.ndim)
    ones = np.ones((1,) * a.ndim)
    for x, y in ((a, b), (b, a)):
        if np.isnan(x).any():
            nan = nan + sum_products(np.isnan(x).astype(np.float64), ones, extents)
        if not np.isinf(x).any():
            continue
        infinite = np.where(np.isinf(x), np.sign(x), 0.0)
        other = np.where(np.isnan(y), 0.0, np.sign(y))
        among = np.abs(infinite)
        signed = sum_products(infinite, other, extents)
        count = sum_products(among, np.abs(other), extents)
        nan = nan + (sum_products(among, ones, extents) - count)  # times 0, or NaN
        plus, minus = plus + (count + signed), minus + (count - signed)
    result = np.where(plus > 0, np.inf, np.where(minus > 0, -np.inf, 0.0))
    return np.where((nan > 0) | ((plus > 0) & (minus > 0)), np.nan, result)


def _multiply(a: Array, b: Array, reduced: frozenset[int]) -> Array:
    rank = a.ndim
    in_a = [size > 1 for size in a.shape]
    in_b = [size > 1 for size in b.shape]
    inner = [i for i in range(rank) if i in reduced and in_a[i]]
    batch = [i for i in range(rank) if i not in reduced and in_a[i] and in_b[i]]
    rows = [i for i in range(rank) if i not in reduced and in_a[i] and not in_b[i]]
    columns = [i for i in range(rank) if i not in reduced and in_b[i] and not in_a[i]]
    kept = batch + rows + columns
    if rows and columns:
        left = _matrix(a, batch, rows, inner)
        right = _matrix(b, batch, inner, columns)
        product = np.matmul(left, right)
    else:
        small_a, small_b = a.reshape(_sizes(a, in_a)), b.reshape(_sizes(b, in_b))
        labels_a = [i for i in range(rank) if in_a[i]]
        labels_b = [i for i in range(rank) if in_b[i]]
        product = np.asarray(np.einsum(small_a, labels_a, small_b, labels_b, kept))
    sizes = [max(a.shape[i], b.shape[i]) for i in kept]
    rest = [i for i in range(rank) if i not in kept]
    order = kept + rest
    spread = product.reshape(sizes + [1] * len(rest))
    return np.asarray(spread.transpose([order.index(i) for i in range(rank)]))


def _sizes(value: Array, kept: list[bool]) -> list[int]:
    return [size for size, keep in zip(value.shape, kept, strict=True) if keep]


def _matrix(value: Array, *groups: list[int]) -> Array:
    """`value` with its dimensions gathered into one per group."""
    order = [i for group in groups for i in group]
    rest = [i for i in range(value.ndim) if i not in order]
    sizes = [math.prod([value.shape[i] for i in group]) for group in groups]
    return value.transpose(order + rest).reshape(sizes)
