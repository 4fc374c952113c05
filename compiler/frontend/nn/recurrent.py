"""Recurrent cells: called for one step, or `over` a whole sequence (time, batch, features)."""

from collections.abc import Sequence
from math import sqrt

from compiler.errors import ShapeError
from compiler.frontend.functions.floats import sigmoid, tanh
from compiler.frontend.functions.recurrent import Run, Weights, gru, lstm
from compiler.frontend.given import require_tensors
from compiler.frontend.nn.initial import Initial, require_initial
from compiler.frontend.shapes import as_int
from compiler.frontend.tensor import Tensor, wrap

_FORWARD = Run()


class _Gates:
    """The weights of some gates, one after the other along the first axis."""

    def __init__(self, make: Initial, gates: int, inputs: int, size: int) -> None:
        require_initial("recurrent cell", make)
        if as_int(size, "size") < 1:
            raise ShapeError(f"recurrent cell of size {size}: use 1 or more")
        bound = 1 / sqrt(size)
        self.inputs = make.uniform((gates * size, inputs), bound)
        self.state = make.uniform((gates * size, size), bound)
        self.input_bias = make.uniform((gates * size,), bound)
        self.state_bias = make.uniform((gates * size,), bound)

    def weights(self) -> Weights:
        """As values."""
        biases = self.input_bias.value, self.state_bias.value
        return Weights(self.inputs.value, self.state.value, *biases)


class LSTMCell:
    """(h, c) from an input and the (h, c) before it. Gates: input, output, forget, cell."""

    def __init__(self, make: Initial, inputs: int, size: int) -> None:
        self.gates = _Gates(make, 4, inputs, size)

    def __call__(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        require_tensors("LSTM cell", x)
        return self.over(x.expand_dims(0), state)[1]

    def over(
        self, xs: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Every h, and the last (h, c)."""
        if not isinstance(state, Sequence) or len(state) != 2:
            raise ShapeError(f"LSTM cell from {state!r:.40}: its state is a pair, (h, c)")
        require_tensors("LSTM cell", xs, *state)
        before = state[0].value, state[1].value
        bends = sigmoid, tanh, tanh
        outputs, (h, c) = lstm(xs.value, self.gates.weights(), before, bends, _FORWARD)
        return wrap(outputs), (wrap(h), wrap(c))


class GRUCell:
    """h from an input and the h before it. Gates: update, reset, new; the reset acts last."""

    def __init__(self, make: Initial, inputs: int, size: int) -> None:
        self.gates = _Gates(make, 3, inputs, size)

    def __call__(self, x: Tensor, h: Tensor) -> Tensor:
        require_tensors("GRU cell", x)
        return self.over(x.expand_dims(0), h)[1]

    def over(self, xs: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        """Every h, and the last one."""
        require_tensors("GRU cell", xs, h)
        weights, bends = self.gates.weights(), (sigmoid, tanh)
        outputs, (last,) = gru(xs.value, weights, (h.value,), bends, _FORWARD, resets_product=True)
        return wrap(outputs), wrap(last)
