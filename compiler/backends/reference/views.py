"""Views as index arithmetic: what a LOAD sees and where a STORE goes, in a part of a domain."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from compiler.backends.reference.arithmetic import Array, apply, cast, numpy_dtype
from compiler.errors import DeviceError
from compiler.ir import Node, Op, Size, View, ViewStack, toposort


@dataclass(frozen=True, slots=True)
class Box:
    """A part of a domain: per axis the first index and how many follow."""

    lows: tuple[int, ...]
    sizes: tuple[int, ...]

    def part(self, axis: int, low: int, size: int) -> "Box":
        """This box with another interval on one axis."""
        lows, sizes = list(self.lows), list(self.sizes)
        lows[axis], sizes[axis] = low, size
        return Box(tuple(lows), tuple(sizes))

    def volume(self, axes: tuple[bool, ...]) -> int:
        """How many positions it has along the marked axes."""
        count = 1
        for size, marked in zip(self.sizes, axes, strict=True):
            count *= size if marked else 1
        return count

    def keep(self, axes: tuple[bool, ...]) -> "Box":
        """This box reduced to index 0 on every axis that is not marked."""
        lows = tuple([low if marked else 0 for low, marked in zip(self.lows, axes, strict=True)])
        sizes = tuple(
            [size if marked else 1 for size, marked in zip(self.sizes, axes, strict=True)]
        )
        return Box(lows, sizes)


@dataclass(frozen=True, slots=True)
class Affine:
    """A View whose sizes are numbers."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    mask: tuple[tuple[int, int], ...]


Stack: TypeAlias = tuple[Affine, ...]


def size_of(size: Size, variables: Mapping[str, int]) -> int:
    """The number a size stands for, in the arithmetic of its dtype."""
    if isinstance(size, int):
        return size
    values: dict[Node, Array] = {}
    for node in toposort(size):
        if node.op is Op.VAR:
            values[node] = variable(node, variables)
        elif node.op is Op.CONST:
            values[node] = np.asarray(node.value, numpy_dtype(node.dtype))
        elif node.op is Op.CAST:
            values[node] = cast(values[node.src[0]], node.src[0].dtype, node.dtype)
        else:
            sources = [values[child] for child in node.src]
            values[node] = apply(node.op, node.dtype, node.src[0].dtype, *sources)
    return int(values[size])


def variable(node: Node, variables: Mapping[str, int]) -> Array:
    """The value of a VAR. DeviceError for a missing one, or one out of range."""
    name, low, high = node.attr
    if name not in variables:
        raise DeviceError(f"variable {name} has no value: give one from {low} to {high}")
    if not low <= variables[name] <= high:
        raise DeviceError(f"variable {name} is {variables[name]}, expected {low} to {high}")
    return np.asarray(variables[name], numpy_dtype(node.dtype))


def resolve(stack: ViewStack, variables: Mapping[str, int]) -> Stack:
    """A stack of views with every symbolic size replaced by its number."""
    return tuple([_affine(view, variables) for view in stack.views])


def _affine(view: View, variables: Mapping[str, int]) -> Affine:
    shape = tuple([size_of(size, variables) for size in view.shape])
    mask = tuple([(0, size) for size in shape])
    if view.mask is not None:
        given = [(size_of(lo, variables), size_of(hi, variables)) for lo, hi in view.mask]
        pairs = zip(given, shape, strict=True)
        mask = tuple([(max(lo, 0), min(hi, size)) for (lo, hi), size in pairs])
    strides = tuple([size_of(stride, variables) for stride in view.strides])
    return Affine(shape, strides, size_of(view.offset, variables), mask)


def load(flat: Array, stack: Stack, box: Box) -> Array:
    """What `stack` shows of `flat` in `box`, 0 where a mask does not hold. May share memory."""
    if len(stack) > 1:
        offsets, valid = positions(stack, box)
        _check_inside(offsets, valid, flat.size)
        return np.where(valid, flat[np.where(valid, offsets, 0)], np.zeros((), flat.dtype))
    window = _window(stack[0], box)
    if window is None:
        return np.zeros(box.sizes, flat.dtype)
    seen = _strided(flat, stack[0], window)
    if window.sizes == box.sizes:
        return seen
    result = np.zeros(box.sizes, flat.dtype)
    result[_slices(window, box)] = seen
    return result


def gather(flat: Array, offsets: Array) -> Array:
    """The elements at computed offsets, 0 outside of the buffer."""
    valid = (offsets >= 0) & (offsets < flat.size)
    return np.where(valid, flat[np.where(valid, offsets, 0)], np.zeros((), flat.dtype))


def store(flat: Array, stack: Stack, box: Box, value: Array) -> None:
    """Write `value`, which covers `box`, to the elements of `flat` that `stack` selects."""
    value = np.broadcast_to(value, box.sizes)
    if len(stack) > 1:
        offsets, valid = positions(stack, box)
        _check_inside(offsets, valid, flat.size)
        valid = np.broadcast_to(valid, box.sizes)
        flat[np.broadcast_to(offsets, box.sizes)[valid]] = value[valid]
        return
    window = _window(stack[0], box)
    if window is not None:
        _strided(flat, stack[0], window)[...] = value[_slices(window, box)]


def where_valid(stack: Stack, box: Box) -> Array:
    """Whether the mask holds, for each position of `box`."""
    if len(stack) > 1:
        return np.broadcast_to(positions(stack, box)[1], box.sizes)
    valid = np.zeros(box.sizes, np.bool_)
    window = _window(stack[0], box)
    if window is not None:
        valid[_slices(window, box)] = True
    return valid


def without_empty(stack: Stack, depends: tuple[bool, ...]) -> Stack:
    """The stack over a domain with an axis of size 0 that does not matter: with one position there.

    What a kernel stores after a reduction of nothing is valid all the same.
    """
    top = stack[-1]
    if 0 not in top.shape:
        return stack
    sizes = zip(top.shape, depends, strict=True)
    shape = tuple([size or int(not moves) for size, moves in sizes])
    pairs = zip(top.mask, top.shape, shape, strict=True)
    mask = tuple([pair if old == new else (0, 1) for pair, old, new in pairs])
    return (*stack[:-1], replace(top, shape=shape, mask=mask))


def positions(stack: Stack, box: Box) -> tuple[Array, Array]:
    """Offsets into the buffer and where they are valid, for each position of `box`."""
    rank = len(box.sizes)
    indices = [
        (np.arange(size, dtype=np.int64) + low).reshape(
            [-1 if i == axis else 1 for i in range(rank)]
        )
        for axis, (low, size) in enumerate(zip(box.lows, box.sizes, strict=True))
    ]
    offsets, valid = _step(stack[-1], indices)
    for view in reversed(stack[:-1]):
        offsets = np.where(valid, offsets, 0)
        offsets, inside = _step(view, _unflatten(offsets, view.shape))
        valid = valid & inside
    return offsets, valid


def _step(view: Affine, indices: list[Array]) -> tuple[Array, Array]:
    offsets = np.asarray(view.offset, np.int64)
    valid = np.ones((), np.bool_)
    for index, size, stride, (low, high) in zip(
        indices, view.shape, view.strides, view.mask, strict=True
    ):
        offsets = offsets + index * stride
        if (low, high) != (0, size):
            valid = valid & (index >= low) & (index < high)
    return offsets, valid


def _unflatten(offsets: Array, shape: tuple[int, ...]) -> list[Array]:
    if 0 in shape:  # no position is valid, whatever the mask above says
        return [np.zeros_like(offsets)] * len(shape)
    indices: list[Array] = []
    for size in reversed(shape):
        indices.append(offsets % size)
        offsets = offsets // size
    if np.any(offsets != 0):
        raise DeviceError(f"view: a position is outside the shape {shape} below it")
    return indices[::-1]


def _window(view: Affine, box: Box) -> Box | None:
    """The part of `box` where the mask holds; None where it is empty."""
    lows = [max(low, first) for low, (first, _) in zip(box.lows, view.mask, strict=True)]
    ends = [
        min(low + size, last)
        for low, size, (_, last) in zip(box.lows, box.sizes, view.mask, strict=True)
    ]
    sizes = tuple([end - low for low, end in zip(lows, ends, strict=True)])
    return Box(tuple(lows), sizes) if all(size > 0 for size in sizes) else None


def _slices(window: Box, box: Box) -> tuple[slice, ...]:
    starts = [inner - outer for inner, outer in zip(window.lows, box.lows, strict=True)]
    pairs = zip(starts, window.sizes, strict=True)
    return tuple([slice(start, start + size) for start, size in pairs])


def _strided(flat: Array, view: Affine, window: Box) -> Array:
    start = view.offset
    reach_low = reach_high = 0
    for low, size, stride in zip(window.lows, window.sizes, view.strides, strict=True):
        start += low * stride
        reach_low += min(0, (size - 1) * stride)
        reach_high += max(0, (size - 1) * stride)
    if start + reach_low < 0 or start + reach_high >= flat.size:
        raise DeviceError(
            f"view: reaches elements {start + reach_low} to {start + reach_high}"
            f" of a buffer of {flat.size}"
        )
    strides = tuple([stride * flat.itemsize for stride in view.strides])
    return as_strided(flat[start:], window.sizes, strides)


def _check_inside(offsets: Array, valid: Array, size: int) -> None:
    wrong = valid & ((offsets < 0) | (offsets >= size))
    if np.any(wrong):
        worst = np.broadcast_to(offsets, wrong.shape)[wrong][0]
        raise DeviceError(f"view: reaches element {worst} of a buffer of {size}")
