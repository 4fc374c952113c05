"""Inputs for a model that nobody gave any: seeded, so they are the same everywhere."""

from collections.abc import Collection, Mapping

import numpy as np

from compiler.errors import ModelError
from compiler.frontend.dtypes import as_dtype, to_numpy
from compiler.frontend.onnx.model import Input, Model
from compiler.frontend.onnx.supported import check_supported
from compiler.frontend.storage import Array
from compiler.ir import BOOL

SEED = 0
UNBOUND = 2  # the size of a dimension that neither the model nor the user fixes


def default_feed(
    model: Model, dims: Mapping[str, int] | None = None, given: Mapping[str, Array] | None = None
) -> dict[str, Array]:
    """The given arrays, and for every other input normal numbers (small integers, coins).

    Raises ModelError for wrong names, and for what cannot be run with any feed.
    """
    check_supported(model)
    bound, feed = dict(dims or {}), dict(given or {})
    check_dims(model, bound)
    check_names(model, feed)
    random = np.random.default_rng(SEED)
    drawn = {
        item.name: _array(item, bound, random) for item in model.inputs if item.name not in feed
    }
    named = [item.name for item in (*model.inputs, *model.defaults)]
    return {name: array for name in named if (array := (drawn | feed).get(name)) is not None}


def check_names(model: Model, feed: Collection[str]) -> None:
    """Raise ModelError for what is fed and is no input."""
    names = [item.name for item in model.inputs]
    known = {*names, *[item.name for item in model.defaults]}
    more = f" and {len(model.defaults)} with values" if model.defaults else ""
    for name in feed:
        if name not in known:
            raise ModelError(f"feed {name}: the inputs are {', '.join(names) or 'none'}{more}")


def check_dims(model: Model, named: Collection[str]) -> None:
    """Raise ModelError for a name that is no open dimension of the model."""
    names = {dim for item in model.inputs for dim in item.shape or () if isinstance(dim, str)}
    unknown = sorted(set(named) - names)
    if unknown:
        listed = ", ".join(sorted(names)) or "none"
        raise ModelError(f"dimension {unknown[0]}: the model has {listed}")


def _array(item: Input, dims: Mapping[str, int], random: np.random.Generator) -> Array:
    shape = [dims.get(dim, UNBOUND) if isinstance(dim, str) else dim for dim in item.shape or ()]
    dtype = as_dtype(item.dtype)
    if dtype.is_float:
        return random.standard_normal(shape).astype(to_numpy(dtype))
    if dtype is BOOL or dtype.bits > 8:  # wide integers are positions: 0 and 1 are in any range
        return random.integers(0, 2, shape).astype(to_numpy(dtype))
    low, high = int(dtype.lowest), int(dtype.highest)
    return random.integers(low, high + 1, shape).astype(to_numpy(dtype))
