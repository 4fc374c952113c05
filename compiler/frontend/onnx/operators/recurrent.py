"""RNN, GRU and LSTM: weights, states and activations of each direction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from compiler.frontend import graph
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions import floats, movement, recurrent
from compiler.frontend.functions.recurrent import Bend, Run, State, Weights
from compiler.frontend.functions.steps import row
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Operator

Layer = Callable[["Direction"], tuple[Value, State]]


@dataclass(frozen=True, slots=True)
class Direction:
    """All that one direction of a layer works with."""

    x: Value
    weights: Weights
    state: State
    bends: tuple[Bend, ...]
    run: Run
    peepholes: Value | None


def _affine(x: Value, alpha: float, beta: float) -> Value:
    return ew.add(ew.multiply(x, alpha), beta)


def _leaky(x: Value, alpha: float, beta: float) -> Value:
    return ew.where(ew.less(x, 0), ew.multiply(x, alpha), x)


def _thresholded(x: Value, alpha: float, beta: float) -> Value:
    return ew.where(ew.greater(x, alpha), x, ew.constant(x, 0))


def _scaled_tanh(x: Value, alpha: float, beta: float) -> Value:
    return ew.multiply(floats.tanh(ew.multiply(x, beta)), alpha)


def _hard_sigmoid(x: Value, alpha: float, beta: float) -> Value:
    return ew.clip(_affine(x, alpha, beta), 0.0, 1.0)


def _elu(x: Value, alpha: float, beta: float) -> Value:
    return ew.where(ew.less(x, 0), ew.multiply(floats.expm1(x), alpha), x)


_PLAIN: Mapping[str, Bend] = {
    "relu": floats.relu,
    "tanh": floats.tanh,
    "sigmoid": floats.sigmoid,
    "softsign": lambda x: ew.divide(x, ew.add(ew.abs_(x), 1.0)),
    "softplus": floats.softplus,
}
# The function, its alpha, and its beta: None where it takes none.
_WITH_NUMBERS: Mapping[str, tuple[Callable[[Value, float, float], Value], float, float | None]] = {
    "affine": (_affine, 1.0, 0.0),
    "leakyrelu": (_leaky, 0.01, None),
    "thresholdedrelu": (_thresholded, 1.0, None),
    "scaledtanh": (_scaled_tanh, 1.0, 1.0),
    "hardsigmoid": (_hard_sigmoid, 0.2, 0.5),
    "elu": (_elu, 1.0, None),
}


def _clipped(bend: Bend, limit: float) -> Bend:
    return lambda x: bend(ew.clip(x, -limit, limit))


def _with_numbers(
    function: Callable[[Value, float, float], Value], alpha: float, beta: float
) -> Bend:
    return lambda x: function(x, alpha, beta)


def _bends(call: Call, defaults: tuple[str, ...], directions: int) -> list[tuple[Bend, ...]]:
    """The activations of each direction; numbers go to those that take some, in order."""
    names = call.attribute("activations", defaults * directions)
    alphas: list[float] = list(call.attribute("activation_alpha", ()))
    betas: list[float] = list(call.attribute("activation_beta", ()))
    found: list[Bend] = []
    for name in [name.lower() for name in names]:
        if name in _PLAIN:
            found.append(_PLAIN[name])
        elif name in _WITH_NUMBERS:
            function, alpha, beta = _WITH_NUMBERS[name]
            alpha = alphas.pop(0) if alphas else alpha
            if beta is not None and betas:
                beta = betas.pop(0)
            found.append(_with_numbers(function, alpha, beta or 0.0))
        else:
            raise call.error(f"activation {name} is not one of ONNX's")
    size = len(defaults)
    return [tuple(found[i * size : (i + 1) * size]) for i in range(directions)]


def _run(
    call: Call, gates: int, defaults: tuple[str, ...], layer: Layer, states: int
) -> tuple[Value, ...]:
    is_batch_first = bool(call.attribute("layout", 0))
    x = movement.swapaxes(call.value(0), 0, 1) if is_batch_first else call.value(0)
    directions = call.value(1).shape[0]
    hidden = call.value(2).shape[2]
    way = call.attribute("direction", "forward")
    bends = _bends(call, defaults, directions)
    results = []
    for i in range(directions):
        inputs, inner = row(call.value(1), 0, i), row(call.value(2), 0, i)
        both = _part(call.optional(3), i)
        width = gates * hidden
        biases = (
            (None, None) if both is None else (_cut(both, 0, width), _cut(both, width, 2 * width))
        )
        begin = graph.full(0, x.dtype, (x.shape[1], hidden), x.device)
        given = [_initial(call, 5 + k, i, is_batch_first=is_batch_first) for k in range(states)]
        state = tuple([begin if value is None else value for value in given])
        run = Run(call.optional(4), backwards=way == "reverse" or i == 1)
        peepholes = _part(call.optional(7), i)
        results.append(
            layer(Direction(x, Weights(inputs, inner, *biases), state, bends[i], run, peepholes))
        )
    every = movement.stack([ys for ys, _ in results], 1)  # (time, directions, batch, hidden)
    last = [movement.stack([s[k] for _, s in results], 0) for k in range(states)]
    if is_batch_first:
        every = movement.permute_dims(every, 2, 0, 1, 3)
        last = [movement.swapaxes(value, 0, 1) for value in last]
    return (every, *last)


def _part(x: Value | None, place: int) -> Value | None:
    return None if x is None else row(x, 0, place)


def _cut(x: Value, start: int, stop: int) -> Value:
    return graph.shrink(x, ((start, stop),))


def _initial(call: Call, index: int, direction: int, *, is_batch_first: bool) -> Value | None:
    given = call.optional(index)
    if given is None:
        return None
    return row(given, 1 if is_batch_first else 0, direction)


def _limited(call: Call, bends: tuple[Bend, ...]) -> tuple[Bend, ...]:
    """`clip` bounds what activations are given."""
    limit = call.attributes.get("clip")
    return bends if limit is None else tuple([_clipped(bend, limit) for bend in bends])


def _rnn(call: Call) -> tuple[Value, ...]:
    def layer(d: Direction) -> tuple[Value, State]:
        (bend,) = _limited(call, d.bends)
        return recurrent.rnn(d.x, d.weights, d.state, bend, d.run)

    return _run(call, 1, ("Tanh",), layer, 1)


def _gru(call: Call) -> tuple[Value, ...]:
    resets_product = bool(call.attribute("linear_before_reset", 0))

    def layer(d: Direction) -> tuple[Value, State]:
        gate, bend = _limited(call, d.bends)
        bends = (gate, bend)
        return recurrent.gru(d.x, d.weights, d.state, bends, d.run, resets_product=resets_product)

    return _run(call, 3, ("Sigmoid", "Tanh"), layer, 1)


def _lstm(call: Call) -> tuple[Value, ...]:
    limit = call.attributes.get("clip")

    def layer(d: Direction) -> tuple[Value, State]:
        bends = (d.bends[0], d.bends[1], d.bends[2])
        return recurrent.lstm(
            d.x,
            d.weights,
            d.state,
            bends,
            d.run,
            peepholes=d.peepholes,
            input_forget=bool(call.attribute("input_forget", 0)),
            limit=limit,
        )

    return _run(call, 4, ("Sigmoid", "Tanh", "Tanh"), layer, 2)


OPERATORS: dict[str, Operator] = {"GRU": _gru, "LSTM": _lstm, "RNN": _rnn}
