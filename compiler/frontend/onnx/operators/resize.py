"""Resize of all opsets, and Upsample, which came before it."""

import math

from compiler.frontend.functions.resize import Along, Method, resize
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Operator
from compiler.frontend.shapes import as_axis
from compiler.frontend.symbolic import fixed


def _resize(call: Call) -> Value:
    if call.opset < 11:
        return _scaled(call, call.numbers(1))
    x = call.value(0)
    axes = call.attribute("axes", tuple(range(x.ndim)))
    axes = tuple([as_axis(axis, x.ndim) for axis in axes])
    lengths = [x.shape[axis] for axis in axes]
    scales, sizes = _scales(call, lengths)
    rois = _rois(call, len(axes))
    method = Method(
        call.attribute("mode", "nearest"),
        call.attribute("coordinate_transformation_mode", "half_pixel"),
        call.attribute("nearest_mode", "round_prefer_floor"),
        float(call.attribute("cubic_coeff_a", -0.75)),
        bool(call.attribute("antialias", 0)),
        bool(call.attribute("exclude_outside", 0)),
        float(call.attribute("extrapolation_value", 0.0)),
    )
    return resize(x, [Along(*item) for item in zip(axes, sizes, scales, rois, strict=True)], method)


def _scales(call: Call, lengths: list[int]) -> tuple[list[float], list[int]]:
    """How many times larger each axis becomes, and its new size."""
    given = call.optional(2)
    if given is not None and given.size:
        scales = [float(number) for number in call.numbers(2)]
        return scales, [_grown(n, s) for n, s in zip(lengths, scales, strict=True)]
    sizes = call.ints(3)
    if sizes is None:
        raise call.error("has neither scales nor sizes")
    scales = [1.0 if size == n else size / n for size, n in zip(sizes, lengths, strict=True)]
    policy = call.attribute("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return scales, list(sizes)
    scale = min(scales) if policy == "not_larger" else max(scales)
    return [scale] * len(scales), [math.floor(scale * n + 0.5) for n in lengths]


def _grown(size: int, scale: float) -> int:
    """The new size; a symbolic one stays symbolic where it grows by a whole factor."""
    return size * int(scale) if scale == int(scale) else math.floor(fixed(size) * scale)


def _rois(call: Call, count: int) -> list[tuple[float, float]]:
    given = call.optional(1)
    if given is None or not given.size:
        return [(0.0, 1.0)] * count
    numbers = [float(number) for number in call.numbers(1)]
    return list(zip(numbers[:count], numbers[count:], strict=True))


def _upsample(call: Call) -> Value:
    return _scaled(call, call.attributes.get("scales") or call.numbers(1))


def _scaled(call: Call, scales: tuple[float, ...]) -> Value:
    x = call.value(0)
    changes = [
        Along(axis, _grown(n, scale), float(scale))
        for axis, (n, scale) in enumerate(zip(x.shape, scales, strict=True))
    ]
    mode = call.attribute("mode", "nearest")
    return resize(x, changes, Method(mode, "asymmetric", "floor"))


OPERATORS: dict[str, Operator] = {"Resize": _resize, "Upsample": _upsample}
