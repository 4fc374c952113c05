"""Matrix products to compute on tensor cores, with their inputs and exact results."""

from dataclasses import replace

import ml_dtypes
import numpy as np

from compiler.ir import FLOAT32, Core, Node, parse_node
from compiler.target import LLVM, OPENCL, Target

_NUMPY = {"bfloat16": np.dtype(ml_dtypes.bfloat16)}


def matmul(m: int, n: int, k: int, core: Core) -> Node:
    """The AST of c[m, n] = sum over k of a[m, k] * b[k, n], products in the dtype of c."""
    a, b, c = [dtype.name for dtype in core.dtypes]
    lines = [
        f"BUFFER {c} slot=0 size={m * n}",
        f"BUFFER {a} slot=1 size={m * k}",
        f"LOAD {a} %1 view=[({m},{n},{k}):({k},0,1)]",
    ]
    factors = [_cast(lines, 2, a, c)]
    lines.append(f"BUFFER {b} slot=2 size={k * n}")
    lines.append(f"LOAD {b} %{len(lines) - 1} view=[({m},{n},{k}):(0,1,{n})]")
    factors.append(_cast(lines, len(lines) - 1, b, c))
    lines.append(f"MUL {c} %{factors[0]} %{factors[1]}")
    lines.append(f"REDUCE {c} %{len(lines) - 1} op=ADD axes=(r0)")
    lines.append(f"STORE void %0 %{len(lines) - 1} view=[({m},{n},{k}):({n},1,0)]")
    lines.append(f"SINK void %{len(lines) - 1} axes=(g0:{m},g1:{n},r0:{k})")
    return parse_node("ir 1\n" + "".join([f"%{i} = {line}\n" for i, line in enumerate(lines)]))


def sums(core: Core, size: int, *pairs: tuple[tuple[int, ...], tuple[int, ...]]) -> Node:
    """The AST of the sum over k of a[i, j, k] * b[i, j, k], or of several such sums.

    `pairs` are the strides of each a and b by row, column and term.
    """
    shape, c = f"({size},{size},{size})", core.dtypes[2].name
    lines = [f"BUFFER {c} slot=0 size={size * size}"]
    total = 0
    for number, pair in enumerate(pairs):
        factors = []
        for slot, (dtype, strides) in enumerate(zip(core.dtypes, pair, strict=False), 1):
            lines.append(f"BUFFER {dtype} slot={2 * number + slot} size={2 * size * size}")
            steps = ",".join(map(str, strides))
            lines.append(f"LOAD {dtype} %{len(lines) - 1} view=[{shape}:({steps})]")
            factors.append(_cast(lines, len(lines) - 1, dtype.name, c))
        lines.append(f"MUL {c} %{factors[0]} %{factors[1]}")
        lines.append(f"REDUCE {c} %{len(lines) - 1} op=ADD axes=(r0)")
        if number > 0:
            lines.append(f"ADD {c} %{total} %{len(lines) - 1}")
        total = len(lines) - 1
    lines.append(f"STORE void %0 %{total} view=[{shape}:({size},1,0)]")
    lines.append(f"SINK void %{len(lines) - 1} axes=(g0:{size},g1:{size},r0:{size})")
    return parse_node("ir 1\n" + "".join([f"%{i} = {line}\n" for i, line in enumerate(lines)]))


def _cast(lines: list[str], value: int, origin: str, target: str) -> int:
    if origin == target:
        return value
    lines.append(f"CAST {target} %{value}")
    return len(lines) - 1


def matrices(m: int, n: int, k: int, core: Core, seed: int = 1) -> dict[int, np.ndarray]:
    """Inputs by slot."""
    rng = np.random.default_rng(seed)
    found = {}
    for slot, (dtype, size) in enumerate(zip(core.dtypes[:2], (m * k, k * n), strict=True), 1):
        numpy_dtype = _NUMPY.get(dtype.name) or np.dtype(dtype.name)
        if dtype.is_int:
            low, high = int(dtype.lowest), int(dtype.highest)
            found[slot] = rng.integers(low, high, size, endpoint=True).astype(numpy_dtype)
        else:
            found[slot] = rng.standard_normal(size).astype(numpy_dtype)
    return found


def exact(m: int, n: int, k: int, inputs: dict[int, np.ndarray]) -> np.ndarray:
    a, b = [inputs[slot].astype(np.float64) for slot in (1, 2)]
    return a.reshape(m, k) @ b.reshape(k, n)


def error_of(core: Core, k: int) -> float:
    """How far an element may be off: of operands that are cut short, and of the sum."""
    if not core.dtypes[2].is_float:
        return 0.0
    unit = 2.0 ** -(core.sees or 24)
    return 16 * k * unit if core.dtypes[0] is FLOAT32 else 16 * k * 2.0**-24


def target_of(core: Core) -> Target:
    """A target with this core alone."""
    base = OPENCL if core.items > 1 else LLVM
    return replace(base, capabilities=replace(base.capabilities, tensor_cores=(core.name,)))
