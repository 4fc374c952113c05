"""Operators that give constants and shapes: the host knows their results without a kernel."""

import numpy as np

from compiler.frontend.functions.creation import arange, eye, full
from compiler.frontend.graph import Value
from compiler.frontend.onnx.call import Call, Operator
from compiler.frontend.onnx.known import shape_of, size_of
from compiler.frontend.storage import from_array
from compiler.frontend.symbolic import is_symbolic


def _constant(call: Call) -> Value:
    for name in ("value", "value_float", "value_floats", "value_int", "value_ints"):
        if name in call.attributes:
            dtype = {"f": np.float32, "i": np.int64}.get(name[6:7])
            return from_array(np.asarray(call.attributes[name], dtype), call.device)
    raise call.error(f"has {', '.join(call.attributes)}, expected numbers")


def _constant_of_shape(call: Call) -> Value:
    given = np.asarray(call.attributes.get("value", np.zeros(1, np.float32)))
    shape = call.ints(0) or ()
    return full(shape, given.reshape(-1)[0].item(), dtype=given.dtype, device=call.device)


def _shape(call: Call) -> Value:
    shape = call.value(0).shape
    start, end = call.attribute("start", 0), call.attribute("end", len(shape))
    return shape_of(shape[slice(start, end)], call.device)


def _size(call: Call) -> Value:
    return size_of(call.value(0).size, call.device)


def _range(call: Call) -> Value:
    start, limit, delta = [call.numbers(i)[0] for i in range(3)]
    if any(is_symbolic(number) for number in (start, limit, delta)):
        return arange(start, limit, delta, dtype=call.value(0).dtype, device=call.device)
    dtype = call.value(0).dtype.name
    return from_array(np.arange(start, limit, delta).astype(dtype), call.device)


def _eye_like(call: Call) -> Value:
    x = call.value(0)
    dtype = call.dtype("dtype", x.dtype)
    rows, columns = x.shape
    return eye(rows, columns, k=call.attribute("k", 0), dtype=dtype, device=call.device)


OPERATORS: dict[str, Operator] = {
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "EyeLike": _eye_like,
    "Range": _range,
    "Shape": _shape,
    "Size": _size,
}
