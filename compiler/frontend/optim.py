"""Optimizers: rules that move parameters against their gradients.

What changes from step to step is in tensors, the powers that Adam counts steps by included: every
step runs the same kernels. `state` lists them all, parameters too, for `jit`.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from compiler.errors import DTypeError, ShapeError
from compiler.frontend.given import require_tensors
from compiler.frontend.shapes import as_number
from compiler.frontend.tensor import Tensor, realize_all


class Optimizer(Protocol):
    """`learning_rate` is a tensor of one number, and may be assigned."""

    parameters: tuple[Tensor, ...]
    learning_rate: Tensor

    @property
    def state(self) -> tuple[Tensor, ...]:
        """Every tensor that a step changes."""

    def step(self, gradients: Sequence[Tensor]) -> None:
        """Move each parameter by its gradient; nothing is computed yet."""


def minimize(loss: Tensor, optimizer: Optimizer, *also: Tensor) -> Tensor:
    """One step down: gradients, step, and all of it computed, with the loss and what else there is.

    `also` are tensors that the loss has changed: the statistics of a BatchNorm.
    """
    require_tensors("minimize", loss, *also)
    values = [parameter.value for parameter in optimizer.parameters]
    optimizer.step(loss.gradient(*values))
    realize_all((loss, *optimizer.state, *also))
    return loss


class SGD:
    """Stochastic gradient descent; with momentum, along a running sum of gradients."""

    def __init__(
        self,
        parameters: Iterable[Tensor],
        learning_rate: float,
        *,
        momentum: float = 0.0,
        nesterov: bool = False,
        weight_decay: float = 0.0,
    ) -> None:
        self.parameters = _tensors(parameters)
        self.learning_rate = _number(learning_rate, self.parameters)
        self.momentum, self.nesterov = as_number(momentum, "momentum"), nesterov
        self.weight_decay = as_number(weight_decay, "weight decay")
        self.velocities = _zeros(self.parameters) if momentum else ()

    @property
    def state(self) -> tuple[Tensor, ...]:
        """Every tensor that a step changes, and the learning rate."""
        return (*self.parameters, self.learning_rate, *self.velocities)

    def step(self, gradients: Sequence[Tensor]) -> None:
        """Move each parameter by its gradient; nothing is computed yet."""
        _check(self.parameters, gradients)
        for place, (parameter, gradient) in enumerate(zip(self.parameters, gradients, strict=True)):
            if self.weight_decay:
                gradient = gradient + parameter * self.weight_decay
            if self.velocities:
                velocity = self.velocities[place]
                _set(velocity, velocity * self.momentum + gradient)
                gradient = gradient + velocity * self.momentum if self.nesterov else velocity
            _set(parameter, parameter - self.learning_rate * gradient)


class Adam:
    """Steps of about the learning rate's size: means of gradients over roots of their squares'.

    `weight_decay` is added to the gradient; `AdamW` takes it off the parameter instead.
    Source: Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019, algorithm 2.
    """

    is_decoupled = False

    def __init__(
        self,
        parameters: Iterable[Tensor],
        learning_rate: float = 0.001,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        self.parameters = _tensors(parameters)
        self.learning_rate = _number(learning_rate, self.parameters)
        self.betas, self.eps = betas, as_number(eps, "eps")
        self.weight_decay = as_number(weight_decay, "weight decay")
        self.means, self.squares = _zeros(self.parameters), _zeros(self.parameters)
        self.powers = tuple([_number(1.0, self.parameters) for _ in betas])  # beta ** steps

    @property
    def state(self) -> tuple[Tensor, ...]:
        """Every tensor that a step changes, and the learning rate."""
        return (
            *self.parameters,
            self.learning_rate,
            *self.means,
            *self.squares,
            *self.powers,
        )

    def step(self, gradients: Sequence[Tensor]) -> None:
        """Move each parameter by its gradient; nothing is computed yet."""
        _check(self.parameters, gradients)
        for power, beta in zip(self.powers, self.betas, strict=True):
            _set(power, power * beta)
        for place, gradient in enumerate(gradients):
            self._move(place, gradient)

    def _move(self, place: int, gradient: Tensor) -> None:
        parameter, (beta1, beta2) = self.parameters[place], self.betas
        mean, square = self.means[place], self.squares[place]
        if self.weight_decay and not self.is_decoupled:
            gradient = gradient + parameter * self.weight_decay
        _set(mean, mean * beta1 + gradient * (1 - beta1))
        _set(square, square * beta2 + gradient * gradient * (1 - beta2))
        size = (square / (1 - self.powers[1])).sqrt() + self.eps
        move = mean / (1 - self.powers[0]) / size
        if self.weight_decay and self.is_decoupled:
            move = move + parameter * self.weight_decay
        _set(parameter, parameter - self.learning_rate * move)


class AdamW(Adam):
    """Adam whose weight decay does not go through the means."""

    is_decoupled = True


def _tensors(parameters: Iterable[Tensor]) -> tuple[Tensor, ...]:
    if isinstance(parameters, Tensor) or not isinstance(parameters, Iterable):
        name = type(parameters).__name__
        raise DTypeError(f"optimizer of {name}: use a sequence of tensors, as nn.parameters gives")
    found = tuple(parameters)
    require_tensors("optimizer", *found)
    return found


def _number(number: float, parameters: Sequence[Tensor]) -> Tensor:
    """A number of the optimizer's own, as fine as the finest parameter."""
    if not parameters:
        raise ShapeError("optimizer of no parameters: give at least one")
    for parameter in parameters:
        if parameter.dtype.kind in "biu":
            raise DTypeError(f"optimizer of a {parameter.dtype} parameter: only floats move")
    is_wide = any(parameter.dtype == np.float64 for parameter in parameters)
    value = as_number(number, "learning rate")
    return Tensor(np.asarray(value, "f8" if is_wide else "f4"), device=parameters[0].device)


def _zeros(parameters: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple([Tensor(np.zeros(p.shape, p.dtype), device=p.device) for p in parameters])


def _check(parameters: Sequence[Tensor], gradients: Sequence[Tensor]) -> None:
    wanted, found = [p.shape for p in parameters], [g.shape for g in gradients]
    if wanted != found:
        raise ShapeError(f"gradients of shapes {found}: the parameters' are {wanted}")


def _set(tensor: Tensor, new: Tensor) -> None:
    """What the tensor stands for from now on, in its own dtype."""
    tensor.value = new.astype(tensor.dtype).value
