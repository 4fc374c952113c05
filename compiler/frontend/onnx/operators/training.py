"""Optimizers of the domain ai.onnx.preview.training: one step of each parameter of a group."""

from collections.abc import Callable

from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions import floats
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Operator

# A parameter, its gradient and its states, to the new parameter and states.
Step = Callable[[Call, float, int, Value, Value, tuple[Value, ...]], tuple[Value, ...]]


def _group(step: Step, states: int) -> Operator:
    """The rate and the number of steps so far come first, then all parameters, gradients, ..."""

    def operator(call: Call) -> tuple[Value, ...]:
        rate, count = float(call.numbers(0)[0]), int(call.numbers(1)[0])
        values = call.values(2)
        size = len(values) // (2 + states)
        results = []
        for i in range(size):
            x, g, *rest = values[i::size]
            results.append(step(call, rate, count, x, g, tuple(rest)))
        return tuple([item for column in zip(*results, strict=True) for item in column])

    return operator


def _number(call: Call, name: str, default: float = 0.0) -> float:
    return float(call.attribute(name, default))


def _regularized(call: Call, x: Value, g: Value) -> Value:
    return ew.add(ew.multiply(x, _number(call, "norm_coefficient")), g)


def _adam(
    call: Call, rate: float, count: int, x: Value, g: Value, states: tuple[Value, ...]
) -> tuple[Value, ...]:
    """Source: D. Kingma, J. Ba, Adam, 2014, with ONNX's two regularizations."""
    alpha, beta = _number(call, "alpha", 0.9), _number(call, "beta", 0.999)
    g = _regularized(call, x, g)
    mean = ew.add(ew.multiply(states[0], alpha), ew.multiply(g, 1 - alpha))
    square = ew.add(ew.multiply(states[1], beta), ew.multiply(ew.square(g), 1 - beta))
    root = ew.add(floats.sqrt(square), _number(call, "epsilon", 1e-6))
    if count > 0:
        rate = rate * (1 - beta**count) ** 0.5 / (1 - alpha**count)
    new = ew.subtract(x, ew.multiply(ew.divide(mean, root), rate))
    return ew.multiply(new, 1 - _number(call, "norm_coefficient_post")), mean, square


def _adagrad(
    call: Call, rate: float, count: int, x: Value, g: Value, states: tuple[Value, ...]
) -> tuple[Value, ...]:
    """Source: J. Duchi, E. Hazan, Y. Singer, Adaptive subgradient methods, 2011."""
    g = _regularized(call, x, g)
    square = ew.add(states[0], ew.square(g))
    root = ew.add(floats.sqrt(square), _number(call, "epsilon", 1e-6))
    slowed = rate / (1 + count * _number(call, "decay_factor"))
    return ew.subtract(x, ew.divide(ew.multiply(g, slowed), root)), square


def _momentum(
    call: Call, rate: float, count: int, x: Value, g: Value, states: tuple[Value, ...]
) -> tuple[Value, ...]:
    alpha = _number(call, "alpha")
    beta = _number(call, "beta") if count > 0 else 1.0
    g = _regularized(call, x, g)
    speed = ew.add(ew.multiply(states[0], alpha), ew.multiply(g, beta))
    is_plain = call.attribute("mode", "standard") == "standard"
    way = speed if is_plain else ew.add(g, ew.multiply(speed, alpha))
    return ew.subtract(x, ew.multiply(way, rate)), speed


_DOMAIN = "ai.onnx.preview.training"
OPERATORS: dict[str, Operator] = {
    f"{_DOMAIN}.Adagrad": _group(_adagrad, 1),
    f"{_DOMAIN}.Adam": _group(_adam, 2),
    f"{_DOMAIN}.Momentum": _group(_momentum, 1),
}
