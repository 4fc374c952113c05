"""One step of a recurrent network. Gates lie one after the other in the weights' first axis."""

from math import sqrt

from compiler.frontend.nn.initial import Initial
from compiler.frontend.tensor import Tensor


class _Gates:
    """x @ weight.T + bias of several gates, as one product."""

    def __init__(self, make: Initial, gates: int, inputs: int, size: int) -> None:
        bound = 1 / sqrt(size)
        self.weight = make.uniform((gates * size, inputs), bound)
        self.bias = make.uniform((gates * size,), bound)
        self.count = gates

    def __call__(self, x: Tensor) -> tuple[Tensor, ...]:
        y: Tensor = x @ self.weight.T + self.bias
        return y.split(self.count, -1)


class LSTMCell:
    """(h, c) from an input and the (h, c) before it. Gates: input, forget, cell, output."""

    def __init__(self, make: Initial, inputs: int, size: int) -> None:
        self.of_input = _Gates(make, 4, inputs, size)
        self.of_state = _Gates(make, 4, size, size)

    def __call__(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        h, c = state
        pairs = zip(self.of_input(x), self.of_state(h), strict=True)
        keep_new, keep_old, cell, shown = [a + b for a, b in pairs]
        c = keep_old.sigmoid() * c + keep_new.sigmoid() * cell.tanh()
        return shown.sigmoid() * c.tanh(), c


class GRUCell:
    """h from an input and the h before it. Gates: reset, update, new; the reset comes last."""

    def __init__(self, make: Initial, inputs: int, size: int) -> None:
        self.of_input = _Gates(make, 3, inputs, size)
        self.of_state = _Gates(make, 3, size, size)

    def __call__(self, x: Tensor, h: Tensor) -> Tensor:
        by_input, by_state = self.of_input(x), self.of_state(h)
        reset = (by_input[0] + by_state[0]).sigmoid()
        update = (by_input[1] + by_state[1]).sigmoid()
        new = (by_input[2] + reset * by_state[2]).tanh()
        return new + update * (h - new)
