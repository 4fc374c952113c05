"""Layers that give their input a mean of 0 and a variance of 1, then scale and shift it."""

from typing import ClassVar

from compiler.errors import ShapeError
from compiler.frontend.given import require_axes, require_tensors
from compiler.frontend.nn.initial import Initial, require_initial
from compiler.frontend.shapes import as_int, as_number
from compiler.frontend.symbolic import is_symbolic, maximum
from compiler.frontend.tensor import Tensor


class BatchNorm:
    """Over all axes but the second: by the batch in training, by running statistics otherwise.

    Training changes `mean` and `variance`: they have to be realized with what is trained.
    """

    UNTRAINED: ClassVar[tuple[str, ...]] = ("mean", "variance")

    def __init__(
        self, make: Initial, channels: int, *, momentum: float = 0.1, eps: float = 1e-5
    ) -> None:
        require_initial("batch norm", make)
        self.weight, self.bias = make.full((channels,), 1), make.full((channels,), 0)
        self.mean, self.variance = make.full((channels,), 0), make.full((channels,), 1)
        self.momentum, self.eps = as_number(momentum, "momentum"), as_number(eps, "eps")

    def __call__(self, x: Tensor, *, training: bool = False) -> Tensor:
        require_axes("batch norm", x, 2)
        mean, variance = self.mean, self.variance
        if training:
            axes = (0, *range(2, x.ndim))
            mean, variance = x.mean(axes), x.var(axes)
            self._follow(mean, _unbiased(variance, x.size // x.shape[1]))
        scale = (variance + self.eps).rsqrt() * self.weight
        return (x - _column(mean, x)) * _column(scale, x) + _column(self.bias, x)

    def _follow(self, mean: Tensor, variance: Tensor) -> None:
        for kept, found in ((self.mean, mean), (self.variance, variance)):
            change = (found - kept) * self.momentum
            kept += change.astype(kept.dtype)  # in place; the layer keeps its own dtype


class LayerNorm:
    """Over the last axes, as many as `shape` has."""

    def __init__(self, make: Initial, *shape: int, eps: float = 1e-5) -> None:
        require_initial("layer norm", make)
        self.weight, self.bias = make.full(shape, 1), make.full(shape, 0)
        self.eps = as_number(eps, "eps")

    def __call__(self, x: Tensor) -> Tensor:
        require_tensors("layer norm", x)
        axes = tuple(range(-self.weight.ndim, 0))
        return x.layer_norm(axes, self.eps) * self.weight + self.bias


class GroupNorm:
    """Over groups of neighbouring channels of (n, channels, *spatial), and over all of space."""

    def __init__(self, make: Initial, groups: int, channels: int, *, eps: float = 1e-5) -> None:
        require_initial("group norm", make)
        if as_int(groups, "groups") < 1 or as_int(channels, "channels") % groups:
            raise ShapeError(f"group norm of {channels} channels: has no {groups} equal groups")
        self.weight, self.bias = make.full((channels,), 1), make.full((channels,), 0)
        self.groups, self.eps = groups, as_number(eps, "eps")

    def __call__(self, x: Tensor) -> Tensor:
        require_axes("group norm", x, 2)
        rows = x.reshape(x.shape[0], self.groups, -1)
        normal = rows.layer_norm(-1, self.eps).reshape(x.shape)
        return normal * _column(self.weight, x) + _column(self.bias, x)


def _unbiased(variance: Tensor, count: int) -> Tensor:
    """The variance of what `count` numbers were drawn from, from theirs."""
    if is_symbolic(count):
        return variance * count / maximum(count - 1, 1)
    return variance * (count / max(count - 1, 1))


def _column(vector: Tensor, x: Tensor) -> Tensor:
    """One number for each channel of x, along its second axis."""
    return vector.reshape(-1, *[1] * (x.ndim - 2))
