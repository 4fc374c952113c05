"""Functions that a driver folds to nothing, put right where it builds: kernels' texts stay.

To add one: a line in _INTRINSICS, or else in _GUARDED.

PoCL's functions (SLEEF's) convert to an integer what none holds. The hardware leads to the right
answer all the same, but where LLVM knows the argument the conversion is poison: `floor(x + NAN)` is
never stored, and a kernel with `rint(INFINITY)` runs off its end.
"""

import re
from collections.abc import Mapping

_INTRINSICS: Mapping[str, str] = {  # of clang, which LLVM folds as the hardware computes them
    "trunc": "trunc", "floor": "floor", "ceil": "ceil", "rint": "roundeven",
}  # fmt: skip
_GUARDED: Mapping[str, str] = {  # the driver's own, but it never sees a NaN
    "exp2": "(T x) { return x == x ? exp2(x == x ? x : (T)(0)) : x; }",
    "tanh": "(T x) { return x == x ? tanh(x == x ? x : (T)(0)) : x; }",
    "pow": "(T x, T y) { return y == y ? pow(x, y == y ? y : (T)(0)) : x == (T)(1) ? x : y; }",
}
_CALLS = re.compile(rf"\b({'|'.join([*_INTRINSICS, *_GUARDED])})\(")
_WIDTHS = ("", "2", "4", "8", "16")


def mended(platform: str, source: str) -> str:
    """The source, behind sound versions of the functions it calls."""
    called = sorted(set(_CALLS.findall(source)))
    if "Portable Computing Language" not in platform or not called:
        return source
    return "".join([*map(_mend, called), "#line 1\n", source])


def _mend(name: str) -> str:
    if name in _GUARDED:
        floats = _overloads(name, "float")
        doubles = f"#ifdef cl_khr_fp64\n{_overloads(name, 'double')}#endif\n"
        return f"{floats}{doubles}#undef {name}\n#define {name} sound_{name}\n"
    intrinsic = f"__builtin_elementwise_{_INTRINSICS[name]}"
    return f"#if __has_builtin({intrinsic})\n#undef {name}\n#define {name} {intrinsic}\n#endif\n"


def _overloads(name: str, element: str) -> str:
    head = f"__attribute__((overloadable)) T sound_{name}"
    text = f"{head}{_GUARDED[name]}\n"
    return "".join([re.sub(r"\bT\b", f"{element}{width}", text) for width in _WIDTHS])
