"""What a gradient is held against: the function itself, a little to both sides."""

import numpy as np

from compiler import Tensor

STEP = (
    1e-5  # the error of a central difference is about step ** 2, that of its rounding 1e-16 / step
)


def tensors(arrays):
    return [Tensor(array, device="reference") for array in arrays]


def along(function, arrays, directions):
    """How function(*arrays) changes along the directions, by a central difference."""
    ends = []
    for step in (STEP, -STEP):
        moved = [a + step * d for a, d in zip(arrays, directions, strict=True)]
        ends.append(function(*tensors(moved)).numpy())
    return (ends[0] - ends[1]) / (2 * STEP)


def check(function, *arrays, seed=0, rtol=1e-7, atol=1e-9):
    """Hold the gradients of `function` by all arrays against differences along random lines."""
    random = np.random.default_rng(seed)
    inputs = tensors(arrays)
    result = function(*inputs)
    weights = random.standard_normal(result.shape)
    found = result.gradient(*inputs, cotangent=Tensor(weights, device="reference"))
    found = [gradient.numpy() for gradient in found]
    for array, gradient in zip(arrays, found, strict=True):
        assert (gradient.shape, gradient.dtype) == (array.shape, array.dtype)
    for _ in range(3):
        directions = [random.standard_normal(array.shape) for array in arrays]
        wanted = (weights * along(function, arrays, directions)).sum()
        mine = sum((g * d).sum() for g, d in zip(found, directions, strict=True))
        np.testing.assert_allclose(mine, wanted, rtol=rtol, atol=atol)
