"""The entry: a stage, buffers and variables in, the new contents of the written buffers out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.backends.reference.arithmetic import Array, numpy_dtype
from compiler.backends.reference.bounds import NATIVE_ULP, Bounded, to_working
from compiler.backends.reference.exact import Exact
from compiler.backends.reference.kernel import Domain
from compiler.backends.reference.lowered import run_lowered
from compiler.backends.reference.views import size_of, store
from compiler.errors import DeviceError
from compiler.ir import ARRAYS, Core, Node, Op, toposort

_NOTHING: Mapping[str, int] = {}


def evaluate(
    root: Node, buffers: Mapping[int, Array], variables: Mapping[str, int] = _NOTHING
) -> dict[int, Array]:
    """New contents, by slot, of every buffer that `root` writes; `buffers` stay as they are.

    `root` is any verified stage: an AST, a lowered graph or a PROGRAM. 16-bit floats may be given
    as uint16 bits and come back as they were given. A buffer that is only written may be left out:
    it starts as zeros. Raises DeviceError where a buffer does not fit, an access that is not masked
    is out of bounds, or work items race for an element of a LOCAL array.
    """
    memory, given = read_memory(root, buffers, variables)
    written = {slot: memory[slot].copy() for slot in written_slots(root)}
    if is_kernel(root):
        for piece in Domain(root, memory, variables, Exact()).pieces():
            store(written[piece.store.src[0].attr[0]], piece.stack, piece.box, piece.value)
    else:
        with np.errstate(all="ignore"):
            run_lowered(root, {**memory, **written}, variables)
    return {
        slot: array.view(given[slot].dtype).reshape(given[slot].shape)
        for slot, array in written.items()
    }


@dataclass(frozen=True, slots=True)
class Bound:
    """What a correct kernel may leave in a buffer, element by element.

    `value` is float64 for floats and in the buffer's own dtype for integers and bools. A float may
    be off by `error`; integers and bools, and floats without error, have one right value. Where
    `undecided` holds, rounding errors decide a comparison or a cast: the error covers all outcomes
    for a float, an integer may be anything. Elements that are not `written` keep what they had.
    """

    value: Array
    error: Array
    undecided: Array
    written: Array


def evaluate_with_bound(
    ast: Node,
    buffers: Mapping[int, Array],
    variables: Mapping[str, int] = _NOTHING,
    ulps: Mapping[Op, float] = NATIVE_ULP,
    core: Core | None = None,
) -> dict[int, Bound]:
    """The values of every buffer that an AST writes with bounds on their errors, flat, by slot.

    `ulps` are the largest errors of the transcendental functions, `core` is the tensor core that
    computes its sums of products, if one does.
    """
    memory, _ = read_memory(ast, buffers, variables)
    dtypes = {node.attr[0]: node.dtype for node in toposort(ast) if node.op in ARRAYS}
    bounds: dict[int, Bound] = {}
    for slot in written_slots(ast):
        start = to_working(memory[slot], dtypes[slot]).copy()
        flags = [np.zeros(start.shape, np.bool_) for _ in range(2)]
        bounds[slot] = Bound(start, np.zeros(start.shape), flags[0], flags[1])
    for piece in Domain(ast, memory, variables, Bounded(ast, ulps, core)).pieces():
        bound, value = bounds[piece.store.src[0].attr[0]], piece.value
        parts = (
            (bound.value, value.value),
            (bound.error, value.slack),
            (bound.undecided, value.is_open | np.isinf(value.slack)),
            (bound.written, np.ones((), np.bool_)),
        )
        for target, part in parts:
            store(target, piece.stack, piece.box, part)
    return bounds


def is_kernel(root: Node) -> bool:
    """Whether the stage is an AST: a SINK of STOREs."""
    return root.op is Op.SINK and all(node.op is Op.STORE for node in root.src)


def written_slots(root: Node) -> tuple[int, ...]:
    """The slots of the buffers that a stage writes, in order."""
    slots: set[int] = set()
    for node in toposort(root):
        if node.op is Op.STORE or node.op is Op.WRITE:
            buffer = node.src[0]
            while buffer.op is Op.AFTER:
                buffer = buffer.src[0]
            if buffer.op in ARRAYS:
                slots.add(buffer.attr[0])
    return tuple(sorted(slots))


def _are_bits(given: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Whether 16-bit floats meet their bits: as NumPy and some stages hold them."""
    return given.itemsize == wanted.itemsize == 2 and np.uint16 in (given, wanted)


def read_memory(
    root: Node, buffers: Mapping[int, Array], variables: Mapping[str, int]
) -> tuple[dict[int, Array], dict[int, Array]]:
    """Every buffer of the stage, flat and in its own NumPy dtype, and as it was given."""
    memory: dict[int, Array] = {}
    given: dict[int, Array] = {}
    written = written_slots(root)
    for node in toposort(root):
        if node.op not in ARRAYS:
            continue
        slot, least, wanted = (
            node.attr[0],
            size_of(node.attr[1], variables),
            numpy_dtype(node.dtype),
        )
        array = buffers.get(slot)
        if array is None and slot in written:
            array = np.zeros(least, wanted)
        if array is None:
            raise DeviceError(f"buffer {slot}: is missing, give {least} {node.dtype}")
        if array.size < least or (array.dtype != wanted and not _are_bits(array.dtype, wanted)):
            raise DeviceError(
                f"buffer {slot}: is {array.size} {array.dtype}, expected {least} {node.dtype}"
            )
        given[slot] = array
        memory[slot] = np.ascontiguousarray(array).reshape(-1).view(wanted)
    return memory, given
