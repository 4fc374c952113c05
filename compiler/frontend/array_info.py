"""What the array API standard asks of dtypes: limits, kinds, promotion, and what there is.

A dtype may be given in any way that tensors take it; answers are NumPy's objects.
"""

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from compiler.errors import DTypeError, OptionError
from compiler.frontend import dtypes
from compiler.frontend.dtypes import DTypeLike
from compiler.frontend.operands import is_number
from compiler.frontend.tensor import Tensor
from compiler.ir import BFLOAT16, DType, Kind

_STANDARD = tuple([d for d in dtypes.ALL if d.bits != 16 or not d.is_float])
_KINDS: dict[str, tuple[Kind, ...]] = {
    "bool": (Kind.BOOL,),
    "signed integer": (Kind.INT,),
    "unsigned integer": (Kind.UINT,),
    "integral": (Kind.INT, Kind.UINT),
    "real floating": (Kind.FLOAT,),
    "complex floating": (),
    "numeric": (Kind.INT, Kind.UINT, Kind.FLOAT),
}


def _dtype(spec: DTypeLike | Tensor) -> DType:
    return spec.value.dtype if isinstance(spec, Tensor) else dtypes.as_dtype(spec)


@dataclass(frozen=True, slots=True)
class FInfo:
    """Limits of a float dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class IInfo:
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: np.dtype[Any]


def finfo(type: DTypeLike | Tensor, /) -> FInfo:
    """The limits of a float dtype, or of a tensor's."""
    dtype = _dtype(type)
    if not dtype.is_float:
        raise DTypeError(f"finfo of {dtype}: is no float")
    theirs = dtypes.to_numpy(dtype)
    info = ml_dtypes.finfo(theirs)  # type: ignore[no-untyped-call]  # ml_dtypes has no types
    return FInfo(
        dtype.bits,
        float(info.eps),
        float(info.max),
        float(info.min),
        float(info.smallest_normal),
        theirs,
    )


def iinfo(type: DTypeLike | Tensor, /) -> IInfo:
    """The limits of an integer dtype, or of a tensor's."""
    dtype = _dtype(type)
    if not dtype.is_int:
        raise DTypeError(f"iinfo of {dtype}: is no integer")
    return IInfo(dtype.bits, int(dtype.highest), int(dtype.lowest), dtypes.to_numpy(dtype))


def isdtype(dtype: DTypeLike, kind: DTypeLike) -> bool:
    """Whether a dtype is of a kind, a dtype, or one of a tuple of them."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return dtypes.as_dtype(dtype).kind in _KINDS[kind]
    return dtypes.as_dtype(dtype) is dtypes.as_dtype(kind)


def result_type(*arrays_and_dtypes: DTypeLike | Tensor) -> np.dtype[Any]:
    """The dtype in which all meet; Python numbers adapt to the others."""
    numbers = [each for each in arrays_and_dtypes if is_number(each)]
    found = [_dtype(each) for each in arrays_and_dtypes if not is_number(each)]
    if not found:
        raise DTypeError("result_type of numbers alone: give a dtype or a tensor")
    result = found[0]
    for other in found[1:]:
        result = dtypes.promote(result, other)
    for number in numbers:
        result = dtypes.with_number(result, number)
    return dtypes.to_numpy(result)


def can_cast(from_: DTypeLike | Tensor, to: DTypeLike, /) -> bool:
    """Whether promotion may turn one dtype into the other."""
    wanted = dtypes.as_dtype(to)
    return dtypes.promote(_dtype(from_), wanted) is wanted


class ArrayNamespaceInfo:
    """What the standard lets a program ask of a namespace."""

    def capabilities(self) -> dict[str, bool | int]:
        """Masks and functions whose shapes depend on elements work: they compute at once."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        return "llvm"

    def devices(self) -> list[str]:
        """All that have a name; one that does not work here says so when it is used."""
        return ["llvm", "opencl", "reference"]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, np.dtype[Any]]:
        wide, whole = np.dtype("float64"), np.dtype("int64")
        return {"real floating": wide, "integral": whole, "indexing": whole}

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype[Any]]:
        """The standard's dtypes by name; float16 and bfloat16 are there as well, but not listed."""
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        for each in kinds:
            if each not in _KINDS:
                raise OptionError(f"kind {each!r}: use one of {', '.join(_KINDS)}")
        wanted = [member for each in kinds for member in _KINDS[each]]
        return {d.name: dtypes.to_numpy(d) for d in _STANDARD if d.kind in wanted}


float16, bfloat16 = np.dtype("float16"), dtypes.to_numpy(BFLOAT16)
