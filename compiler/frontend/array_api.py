"""The Python array API standard, 2024.12: its functions over tensors, under its names.

`x.__array_namespace__()` gives this module, and so does `from compiler import array_api`. Dtypes
are NumPy's objects. There are no complex numbers (conj and real take real ones), and none of the
optional extensions (linalg, fft). To add a name: a line below.
"""

import math

import numpy as np

from compiler.frontend.array_functions import (
    asarray,
    astype,
    broadcast_to,
    from_dlpack,
    permute_dims,
    reshape,
    squeeze,
)
from compiler.frontend.array_info import (
    ArrayNamespaceInfo,
    bfloat16,
    can_cast,
    finfo,
    float16,
    iinfo,
    isdtype,
    result_type,
)
from compiler.frontend.functions import (
    arrangement,
    creation,
    division,
    elementwise,
    floats,
    indexing,
    inverse,
    movement,
    ordering,
    reduce,
    scan,
    sets,
    sorting,
)
from compiler.frontend.functions import linalg as products  # `linalg` would be the extension
from compiler.frontend.tensor import function, functions, method, methods, record

__array_api_version__ = "2024.12"
__array_namespace_info__ = ArrayNamespaceInfo
e, pi, inf, nan, newaxis = math.e, math.pi, math.inf, math.nan, None

bool = np.dtype("bool")  # the standard's name
int8, int16, int32, int64 = [np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)]
uint8, uint16, uint32, uint64 = [np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)]
float32, float64 = np.dtype("float32"), np.dtype("float64")

# creation
arange, linspace = function(creation.arange), function(creation.linspace)
empty = zeros = function(creation.zeros)
ones, full, eye = function(creation.ones), function(creation.full), function(creation.eye)
empty_like = zeros_like = method(creation.zeros_like)
ones_like, full_like = method(creation.ones_like), method(creation.full_like)
meshgrid = functions(arrangement.meshgrid)
tril, triu = method(creation.tril), method(creation.triu)

# arithmetic and comparisons
abs, negative, positive = (
    method(elementwise.abs_),
    method(elementwise.negative),
    method(elementwise.positive),
)
conj = real = method(elementwise.positive)  # numbers here are real, and the standard takes them
add, subtract = function(elementwise.add), function(elementwise.subtract)
multiply, divide = function(elementwise.multiply), function(elementwise.divide)
floor_divide, remainder = function(division.floor_divide), function(division.remainder)
pow, square = function(elementwise.power), method(elementwise.square)
sign, signbit = method(elementwise.sign), method(elementwise.signbit)
copysign, nextafter = function(elementwise.copysign), function(elementwise.nextafter)
maximum, minimum = function(elementwise.maximum), function(elementwise.minimum)
clip, where = method(elementwise.clip), function(elementwise.where)
ceil, floor = method(elementwise.ceil), method(elementwise.floor)
trunc, round = method(elementwise.trunc), method(elementwise.round_)
equal, not_equal = function(elementwise.equal), function(elementwise.not_equal)
less, less_equal = function(elementwise.less), function(elementwise.less_equal)
greater, greater_equal = function(elementwise.greater), function(elementwise.greater_equal)
isnan, isinf, isfinite = (
    method(elementwise.isnan),
    method(elementwise.isinf),
    method(elementwise.isfinite),
)
logical_and, logical_or = function(elementwise.logical_and), function(elementwise.logical_or)
logical_xor, logical_not = function(elementwise.logical_xor), method(elementwise.logical_not)
bitwise_and, bitwise_or = function(elementwise.bitwise_and), function(elementwise.bitwise_or)
bitwise_xor, bitwise_invert = function(elementwise.bitwise_xor), method(elementwise.bitwise_invert)
bitwise_left_shift = function(elementwise.bitwise_left_shift)
bitwise_right_shift = function(elementwise.bitwise_right_shift)

# functions of floats
sqrt, reciprocal = method(floats.sqrt), method(floats.reciprocal)
exp, expm1 = method(floats.exp), method(floats.expm1)
log, log1p = method(floats.log), method(floats.log1p)
log2, log10 = method(floats.log2), method(floats.log10)
sin, cos, tan = method(floats.sin), method(floats.cos), method(floats.tan)
sinh, cosh, tanh = method(floats.sinh), method(floats.cosh), method(floats.tanh)
asin, acos, atan = method(inverse.asin), method(inverse.acos), method(inverse.atan)
asinh, acosh, atanh = method(inverse.asinh), method(inverse.acosh), method(inverse.atanh)
atan2, hypot, logaddexp = (
    function(inverse.atan2),
    function(floats.hypot),
    function(floats.logaddexp),
)

# manipulation
broadcast_arrays = functions(movement.broadcast_arrays)
concat, stack = function(movement.concat), function(movement.stack)
expand_dims, moveaxis = method(movement.expand_dims), method(movement.moveaxis)
flip, roll = method(movement.flip), method(movement.roll)
repeat, tile = method(arrangement.repeat_each), method(movement.tile)
unstack = methods(movement.unstack)

# indexing, order, sets
take, take_along_axis = method(indexing.take), method(indexing.take_along_axis)
argsort, sort = method(ordering.argsort), method(sorting.sort)
searchsorted, nonzero = method(sorting.searchsorted), methods(sets.nonzero)
argmax, argmin = method(reduce.argmax), method(reduce.argmin)
unique_all, unique_counts = record(sets.unique_all), record(sets.unique_counts)
unique_inverse, unique_values = record(sets.unique_inverse), method(sets.unique_values)
isin = function(sets.isin)

# reductions and products
sum, prod, mean = method(reduce.sum_), method(reduce.prod), method(reduce.mean)
max, min = method(reduce.max_), method(reduce.min_)
var, std = method(reduce.var), method(reduce.std)
any, all = method(reduce.any_), method(reduce.all_)
count_nonzero, diff = method(reduce.count_nonzero), method(arrangement.diff)
cumulative_sum = method(scan.cumulative_sum)
cumulative_prod = method(scan.cumulative_prod)
matmul, tensordot = method(products.matmul), method(products.tensordot)
vecdot, matrix_transpose = method(products.vecdot), method(movement.matrix_transpose)

__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bfloat16",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bool",
    "broadcast_arrays",
    "broadcast_to",
    "can_cast",
    "ceil",
    "clip",
    "concat",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "divide",
    "e",
    "empty",
    "empty_like",
    "equal",
    "exp",
    "expand_dims",
    "expm1",
    "eye",
    "finfo",
    "flip",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "from_dlpack",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "hypot",
    "iinfo",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "linspace",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "nan",
    "negative",
    "newaxis",
    "nextafter",
    "nonzero",
    "not_equal",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "positive",
    "pow",
    "prod",
    "real",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "round",
    "searchsorted",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sort",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "tril",
    "triu",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "var",
    "vecdot",
    "where",
    "zeros",
    "zeros_like",
]  # fmt: skip
