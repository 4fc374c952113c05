"""Tensor: a name for a lazy value, with NumPy's methods bound from the modules of their topics.

To add a method: a function of values in a topic module, and a line in the table below.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import update_wrapper, wraps
from importlib import import_module
from types import ModuleType
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from compiler.errors import DeviceError, DTypeError, ShapeError
from compiler.frontend import binding, convert, dtypes
from compiler.frontend.dtypes import DTypeLike
from compiler.frontend.functions import (
    arrangement,
    attention,
    creation,
    division,
    einsum,
    elementwise,
    floats,
    indexing,
    inverse,
    linalg,
    movement,
    ordering,
    placing,
    random,
    reduce,
    resize,
    scan,
    sets,
    sorting,
    window,
)
from compiler.frontend.gradient import gradient
from compiler.frontend.graph import Value
from compiler.frontend.operands import Operand
from compiler.frontend.realize import explain, realize, take_numpy, to_numpy
from compiler.frontend.shapes import is_pair
from compiler.frontend.temporaries import TEMPORARY, is_unshared

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
Binary = Callable[[Operand, Operand], Value]
_HOST = (1, 0)  # kDLCPU, the first


def _unwrap(argument: Any) -> Any:  # noqa: ANN401  # whatever a user passes
    if isinstance(argument, Tensor):
        return argument.value
    if isinstance(argument, tuple | list):
        return type(argument)([_unwrap(item) for item in argument])
    return argument


def _call(function: Callable[..., R], args: tuple[Any, ...], options: dict[str, Any]) -> R:
    values = {name: _unwrap(option) for name, option in options.items()}
    for name, value in values.items():
        if isinstance(value, Value | np.ndarray | list):
            _require_no_word(function, name, value)
    return function(*[_unwrap(argument) for argument in args], **values)


def _require_no_word(function: Callable[..., Any], name: str, value: object) -> None:
    """Raise DTypeError for what may have elements in place of a bool or a text."""
    wanted = _WORDS.get(function.__annotations__.get(name))
    if wanted is not None:
        raise DTypeError(f"{name} is {type(value).__name__}: use {wanted}")


_WORDS: Mapping[object, str] = {bool: "True or False", str: "a text", str | None: "a text"}


def _own(argument: object, function: Callable[..., Any]) -> "Tensor":
    """The tensor that a function belongs to. Raises DTypeError for what is none."""
    if not isinstance(argument, Tensor):
        name = function.__name__.rstrip("_")
        raise DTypeError(f"{name} of {type(argument).__name__}: use a tensor")
    return argument


def _named(bound: F, function: Callable[..., Any]) -> F:
    update_wrapper(bound, function)
    return bound


def method(
    function: Callable[Concatenate[Value, P], Value],
) -> Callable[Concatenate["Tensor", P], "Tensor"]:
    """A function of a value, as a method; tensors among the arguments are unwrapped."""

    def bound(self: "Tensor", /, *args: P.args, **options: P.kwargs) -> "Tensor":
        return wrap(_call(function, (_own(self, function), *args), options))

    return _named(bound, function)


def methods(
    function: Callable[Concatenate[Value, P], tuple[Value, ...]],
) -> Callable[Concatenate["Tensor", P], "tuple[Tensor, ...]"]:
    """A function that gives several values, as a method."""

    def bound(self: "Tensor", /, *args: P.args, **options: P.kwargs) -> "tuple[Tensor, ...]":
        found = _call(function, (_own(self, function), *args), options)
        return tuple([wrap(value) for value in found])

    return _named(bound, function)


def record(
    function: Callable[Concatenate[Value, P], tuple[Any, ...]],
) -> Callable[Concatenate["Tensor", P], Any]:
    """A function that gives a named tuple of values, as one that gives one of tensors."""

    def bound(self: "Tensor", /, *args: P.args, **options: P.kwargs) -> Any:  # noqa: ANN401  # the tuple's own type
        found: Any = _call(function, (_own(self, function), *args), options)
        return type(found)(*[wrap(value) for value in found])

    return _named(bound, function)


def reading(
    function: Callable[Concatenate[Value, P], R],
) -> Callable[Concatenate["Tensor", P], R]:
    """A function that gives something else than values, as a method."""

    def bound(self: "Tensor", /, *args: P.args, **options: P.kwargs) -> R:
        return _call(function, (self, *args), options)

    return _named(bound, function)


def function(function: Callable[P, Value]) -> Callable[P, "Tensor"]:
    """A function without a tensor that it belongs to."""

    @wraps(function)
    def bound(*args: P.args, **options: P.kwargs) -> "Tensor":
        return wrap(_call(function, args, options))

    return bound


def functions(function: Callable[P, tuple[Value, ...]]) -> Callable[P, tuple["Tensor", ...]]:
    """A function that gives several values, of no tensor in particular."""

    @wraps(function)
    def bound(*args: P.args, **options: P.kwargs) -> tuple["Tensor", ...]:
        return tuple([wrap(value) for value in _call(function, args, options)])

    return bound


def static(made: Callable[P, Value]) -> "staticmethod[P, Tensor]":
    """Likewise, in the class."""
    return staticmethod(function(made))


def reflected(function: Binary) -> "Callable[[Tensor, Operand], Tensor]":
    """A function of two operands, the tensor being the second."""

    def bound(self: "Tensor", other: Operand) -> "Tensor":
        return wrap(_call(function, (other, self), {}))

    return bound


def in_place(function: Binary) -> "Callable[[Tensor, Operand], Tensor]":
    """A function of two operands whose result the tensor stands for from then on."""

    def bound(self: "Tensor", other: Operand) -> "Tensor":
        result = _call(function, (self, other), {})
        if result.dtype is not self.value.dtype:
            raise DTypeError(f"in place: {self.value.dtype} cannot hold the {result.dtype} result")
        if result.shape != self.value.shape:
            raise ShapeError(f"in place: {self.value.shape} cannot hold {result.shape}")
        self.value = result
        return self

    return bound


def wrap(value: Value) -> "Tensor":
    """The tensor that stands for `value`."""
    tensor = Tensor.__new__(Tensor)
    tensor.value = value
    return tensor


def _assign(self: "Tensor", index: indexing.Index, value: Operand) -> None:
    self.value = _call(indexing.setitem, (self, index, value), {})


def _iterate(self: "Tensor") -> "Iterator[Tensor]":
    return (wrap(value) for value in convert.rows(self.value))


def _realize(self: "Tensor") -> "Tensor":
    """Compute the elements now, and keep them."""
    (self.value,) = realize([self.value])
    return self


def realize_all(tensors: "Sequence[Tensor]") -> None:
    """Compute the elements of all of them now: what they share is computed once."""
    values = realize([tensor.value for tensor in tensors])
    for tensor, value in zip(tensors, values, strict=True):
        tensor.value = value


def _explain(self: "Tensor", *others: "Tensor") -> str:
    """The kernels that would compute these tensors now, and why each is one of its own."""
    return explain([_own(tensor, explain).value for tensor in (self, *others)])


def _numpy(self: "Tensor") -> np.ndarray[Any, Any]:
    """A new array of the elements."""
    is_temporary = sys.getrefcount(self) == TEMPORARY
    _realize(self)
    if is_temporary and is_unshared(self):
        return take_numpy(self.value)
    return to_numpy(self.value)


def _namespace(self: "Tensor", *, api_version: str | None = None) -> ModuleType:
    """The namespace of the array API standard that tensors belong to."""
    if api_version not in (None, *API_VERSIONS):
        listed = ", ".join(API_VERSIONS)
        raise ShapeError(f"array API {api_version}: this is {listed}")
    return import_module("compiler.frontend.array_api")  # whose functions make tensors


def _dlpack(
    self: "Tensor",
    *,
    stream: object = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> object:
    """A new array of the elements, as a DLPack capsule in the host's memory."""
    if copy is False:
        raise BufferError("dlpack of a tensor: is always a copy, leave out copy=False")
    if stream is not None:
        raise DeviceError(f"stream {stream!r}: the host's memory has none, leave it out")
    for name, pair in (("max_version", max_version), ("dl_device", dl_device)):
        if pair is not None and not is_pair(pair):
            raise DTypeError(f"dlpack of a tensor: {name} is {pair!r:.40}, use two integers")
    if dl_device not in (None, _HOST):
        raise BufferError(f"dlpack to device {dl_device}: elements are given on {_HOST}, the CPU")
    return to_numpy(self.value).__dlpack__(max_version=max_version)


def _dlpack_device(self: "Tensor") -> tuple[int, int]:
    return _HOST  # what __dlpack__ gives, wherever the tensor lives


def _to_device(self: "Tensor", device: str, /, *, stream: object = None) -> "Tensor":
    """The same elements on another device."""
    if stream is not None:
        raise DeviceError(f"stream {stream!r}: devices here have none, leave it out")
    return wrap(convert.to_device(self.value, device))


def _copied(self: "Tensor", memo: object = None) -> "Tensor":
    """Another tensor of the same elements: assignments to one of them leave the other as it was."""
    return wrap(self.value)


def _repr(self: "Tensor") -> str:
    value = self.value
    return f"<Tensor {value.dtype}{list(value.shape)} on {value.device}>"


class Tensor:
    """A lazy array. `device` is the name of a backend; NumPy's rules hold unless stated."""

    __slots__ = ("__weakref__", "value")
    __array_ufunc__ = None  # operators with NumPy arrays on the left are ours
    __hash__ = None  # type: ignore[assignment]  # == gives a tensor, as in NumPy
    value: Value

    def __init__(self, data: object, dtype: DTypeLike | None = None, device: str = "llvm") -> None:
        self.value = _initial(data, dtype, device)

    realize, numpy, explain = _realize, _numpy, _explain
    to, to_device = method(convert.to_device), _to_device
    bind = method(binding.bind)
    __array_namespace__ = _namespace
    __dlpack__, __dlpack_device__ = _dlpack, _dlpack_device
    item, tolist = reading(convert.item), reading(convert.to_list)
    astype = method(elementwise.astype)
    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)
    dtype = property(lambda self: dtypes.to_numpy(self.value.dtype))
    device = property(lambda self: self.value.device)

    __repr__, __iter__, __setitem__ = _repr, _iterate, _assign
    __copy__, __deepcopy__ = _copied, _copied
    __len__, __bool__ = reading(convert.length), reading(convert.as_bool)
    __contains__ = reading(convert.contains)
    __int__, __float__ = reading(convert.as_int), reading(convert.as_float)
    __index__, __array__ = reading(convert.as_index), reading(convert.to_array)
    __getitem__ = method(indexing.getitem)
    take = method(indexing.take)
    take_along_axis = method(indexing.take_along_axis)
    put_along_axis = method(placing.put_along_axis)

    # operators
    __neg__, __pos__ = method(elementwise.negative), method(elementwise.positive)
    __abs__, __invert__ = method(elementwise.abs_), method(elementwise.bitwise_invert)
    __add__, __radd__ = method(elementwise.add), reflected(elementwise.add)
    __sub__, __rsub__ = method(elementwise.subtract), reflected(elementwise.subtract)
    __mul__, __rmul__ = method(elementwise.multiply), reflected(elementwise.multiply)
    __truediv__, __rtruediv__ = method(elementwise.divide), reflected(elementwise.divide)
    __floordiv__ = method(division.floor_divide)
    __rfloordiv__ = reflected(division.floor_divide)
    __mod__, __rmod__ = method(division.remainder), reflected(division.remainder)
    __pow__, __rpow__ = method(elementwise.power), reflected(elementwise.power)
    __matmul__, __rmatmul__ = method(linalg.matmul), reflected(linalg.matmul)
    __and__, __rand__ = method(elementwise.bitwise_and), reflected(elementwise.bitwise_and)
    __or__, __ror__ = method(elementwise.bitwise_or), reflected(elementwise.bitwise_or)
    __xor__, __rxor__ = method(elementwise.bitwise_xor), reflected(elementwise.bitwise_xor)
    __lshift__ = method(elementwise.bitwise_left_shift)
    __rlshift__ = reflected(elementwise.bitwise_left_shift)
    __rshift__ = method(elementwise.bitwise_right_shift)
    __rrshift__ = reflected(elementwise.bitwise_right_shift)
    __lt__, __le__ = method(elementwise.less), method(elementwise.less_equal)
    __gt__, __ge__ = method(elementwise.greater), method(elementwise.greater_equal)
    __eq__ = reflected(elementwise.equal)  # type: ignore[assignment]  # gives a tensor, no bool
    __ne__ = reflected(elementwise.not_equal)  # type: ignore[assignment]  # likewise
    __iadd__, __isub__ = in_place(elementwise.add), in_place(elementwise.subtract)
    __imul__, __itruediv__ = in_place(elementwise.multiply), in_place(elementwise.divide)
    __ifloordiv__, __imod__ = in_place(division.floor_divide), in_place(division.remainder)
    __ipow__, __imatmul__ = in_place(elementwise.power), in_place(linalg.matmul)
    __iand__, __ior__ = in_place(elementwise.bitwise_and), in_place(elementwise.bitwise_or)
    __ixor__ = in_place(elementwise.bitwise_xor)
    __ilshift__ = in_place(elementwise.bitwise_left_shift)
    __irshift__ = in_place(elementwise.bitwise_right_shift)

    # elementwise
    where = static(elementwise.where)
    add, subtract = method(elementwise.add), method(elementwise.subtract)
    multiply, divide = method(elementwise.multiply), method(elementwise.divide)
    floor_divide, remainder = method(division.floor_divide), method(division.remainder)
    truncated_divide, fmod = method(division.truncated_divide), method(division.fmod)
    pow, square = method(elementwise.power), method(elementwise.square)
    abs, sign, signbit = (
        method(elementwise.abs_),
        method(elementwise.sign),
        method(elementwise.signbit),
    )
    floor, ceil, trunc = (
        method(elementwise.floor),
        method(elementwise.ceil),
        method(elementwise.trunc),
    )
    round, clip = method(elementwise.round_), method(elementwise.clip)
    maximum, minimum = method(elementwise.maximum), method(elementwise.minimum)
    copysign, nextafter = method(elementwise.copysign), method(elementwise.nextafter)
    isnan, isinf, isfinite = (
        method(elementwise.isnan),
        method(elementwise.isinf),
        method(elementwise.isfinite),
    )
    logical_and, logical_or = method(elementwise.logical_and), method(elementwise.logical_or)
    logical_xor, logical_not = method(elementwise.logical_xor), method(elementwise.logical_not)

    # functions of floats
    sqrt, rsqrt, reciprocal = (
        method(floats.sqrt),
        method(floats.rsqrt),
        method(floats.reciprocal),
    )
    exp, exp2, expm1 = method(floats.exp), method(floats.exp2), method(floats.expm1)
    log, log2, log10 = method(floats.log), method(floats.log2), method(floats.log10)
    log1p, erf = method(floats.log1p), method(floats.erf)
    sin, cos, tan = method(floats.sin), method(floats.cos), method(floats.tan)
    sinh, cosh, tanh = method(floats.sinh), method(floats.cosh), method(floats.tanh)
    asin, acos, atan = method(inverse.asin), method(inverse.acos), method(inverse.atan)
    asinh, acosh, atanh = method(inverse.asinh), method(inverse.acosh), method(inverse.atanh)
    atan2 = method(inverse.atan2)
    sigmoid, relu, silu = (
        method(floats.sigmoid),
        method(floats.relu),
        method(floats.silu),
    )
    gelu, softplus = method(floats.gelu), method(floats.softplus)
    hypot, logaddexp = method(floats.hypot), method(floats.logaddexp)

    # movement
    T = property(method(movement.permute_dims))
    mT = property(method(movement.matrix_transpose))  # noqa: N815  # the standard's name
    reshape, flatten = method(movement.reshape), method(movement.flatten)
    transpose = permute_dims = method(movement.permute_dims)
    swapaxes, moveaxis = method(movement.swapaxes), method(movement.moveaxis)
    expand_dims, squeeze = method(movement.expand_dims), method(movement.squeeze)
    expand = broadcast_to = method(movement.expand)
    flip, roll = method(movement.flip), method(movement.roll)
    repeat, tile = method(arrangement.repeat_each), method(movement.tile)
    diff, diagonal, trace = (
        method(arrangement.diff),
        method(arrangement.diagonal),
        method(arrangement.trace),
    )
    pad = method(movement.pad)
    contiguous = method(movement.contiguous)
    split, unstack = methods(movement.split), methods(movement.unstack)
    concat = cat = static(movement.concat)
    stack = static(movement.stack)

    # reductions
    sum, prod, mean = method(reduce.sum_), method(reduce.prod), method(reduce.mean)
    max, min = method(reduce.max_), method(reduce.min_)
    any, all = method(reduce.any_), method(reduce.all_)
    var, std = method(reduce.var), method(reduce.std)
    argmax, argmin = method(reduce.argmax), method(reduce.argmin)
    count_nonzero = method(reduce.count_nonzero)
    softmax, log_softmax = method(reduce.softmax), method(reduce.log_softmax)
    logsumexp, layer_norm = method(reduce.logsumexp), method(reduce.layer_norm)
    cumsum, cumulative_sum = method(scan.cumsum), method(scan.cumulative_sum)
    cumprod, cumulative_prod = method(scan.cumprod), method(scan.cumulative_prod)

    # order
    sort, argsort, topk = method(sorting.sort), method(ordering.argsort), methods(sorting.topk)
    searchsorted, isin = method(sorting.searchsorted), method(sets.isin)
    nonzero, unique = methods(sets.nonzero), method(sets.unique_values)

    # products and windows
    matmul, dot = method(linalg.matmul), method(linalg.matmul)
    vecdot, outer = method(linalg.vecdot), method(linalg.outer)
    tensordot, cross = method(linalg.tensordot), method(arrangement.cross)
    einsum = static(einsum.einsum)
    conv = conv2d = method(window.conv)
    conv_transpose = method(window.conv_transpose)
    max_pool = max_pool2d = method(window.max_pool)
    avg_pool = avg_pool2d = method(window.avg_pool)
    interpolate = method(resize.interpolate)

    scaled_dot_product_attention = method(attention.scaled_dot_product_attention)

    # derivatives
    gradient = methods(gradient)

    # creation
    zeros, ones, full = static(creation.zeros), static(creation.ones), static(creation.full)
    zeros_like, ones_like = method(creation.zeros_like), method(creation.ones_like)
    full_like = method(creation.full_like)
    arange, linspace, eye = (
        static(creation.arange),
        static(creation.linspace),
        static(creation.eye),
    )
    rand, randn = static(random.rand), static(random.randn)
    uniform, randint = static(random.uniform), static(random.randint)
    permutation = static(random.permutation)
    tril, triu = method(creation.tril), method(creation.triu)


def _initial(data: object, dtype: DTypeLike | None, device: str) -> Value:
    if isinstance(data, Tensor):
        value = convert.to_device(data.value, device)
        return value if dtype is None else elementwise.astype(value, dtype)
    return convert.from_data(data, dtype, device)
