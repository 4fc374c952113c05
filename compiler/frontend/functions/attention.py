"""Attention: rows of values, mixed by how well their keys answer to queries."""

import math

from compiler.errors import ShapeError
from compiler.frontend import dtypes, graph
from compiler.frontend.functions.creation import tril
from compiler.frontend.functions.elementwise import add, logical_and, multiply, where
from compiler.frontend.functions.floats import as_float
from compiler.frontend.functions.linalg import matmul
from compiler.frontend.functions.movement import matrix_transpose
from compiler.frontend.functions.reduce import softmax
from compiler.frontend.graph import Value
from compiler.frontend.operands import require_values
from compiler.ir import BOOL


def scaled_dot_product_attention(
    query: Value,
    key: Value,
    value: Value,
    mask: Value | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Value:
    """softmax(query @ key.T * scale) @ value, over (..., queries, size) and (..., keys, size).

    A mask of bools says which keys a query may see (one that sees none gets 0), one of floats is
    added to the products. `is_causal`: query i sees keys 0 to i. `scale` is 1 / sqrt(size).
    """
    require_values("attention", query, key, value)
    if mask is not None:
        require_values("mask", mask)
    if min(query.ndim, key.ndim, value.ndim) < 2 or query.shape[-1] != key.shape[-1]:
        raise ShapeError(
            f"attention of {query.shape} to {key.shape} and {value.shape}: needs (..., queries, n),"
            " (..., keys, n) and (..., keys, m)"
        )
    query = as_float(query)
    dtype = dtypes.promote(dtypes.promote(query.dtype, key.dtype), value.dtype)
    wide = dtypes.accumulator(dtype)
    query, key, value = [graph.cast(x, wide) for x in (query, key, value)]
    factor = 1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale
    products = matmul(multiply(query, factor), matrix_transpose(key))
    seen = _seen(products, mask, is_causal=is_causal)
    if mask is not None and mask.dtype is not BOOL:
        products = add(products, graph.cast(mask, wide))
    if seen is None:
        return graph.cast(matmul(softmax(products), value), dtype)
    shares = softmax(where(seen, products, float(wide.lowest)))
    return graph.cast(matmul(where(seen, shares, 0.0), value), dtype)


def _seen(products: Value, mask: Value | None, *, is_causal: bool) -> Value | None:
    """Where a query may look; None for everywhere."""
    seen = mask if mask is not None and mask.dtype is BOOL else None
    if not is_causal:
        return seen
    below = tril(graph.full(1, BOOL, products.shape[-2:], products.device))
    return below if seen is None else logical_and(seen, below)
