"""The entry: a stage, buffers and variables in, the new contents of the written buffers out."""

from collections.abc import Mapping

import numpy as np

from compiler.backends.reference.arithmetic import Array, numpy_dtype
from compiler.backends.reference.exact import Exact
from compiler.backends.reference.kernel import Domain
from compiler.backends.reference.lowered import run_lowered
from compiler.backends.reference.views import size_of, store
from compiler.errors import DeviceError
from compiler.ir import BFLOAT16, Node, Op, toposort

_NOTHING: Mapping[str, int] = {}


def evaluate(
    root: Node, buffers: Mapping[int, Array], variables: Mapping[str, int] = _NOTHING
) -> dict[int, Array]:
    """New contents, by slot, of every buffer that `root` writes; `buffers` stay as they are.

    `root` is any verified stage: an AST, a lowered graph or a PROGRAM. bfloat16 may be given as
    uint16 bits and is returned as given. A buffer that is only written may be left out: it starts
    as zeros. Raises DeviceError where a buffer does not fit, or an access that is not masked is out
    of bounds.
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
            if buffer.op is Op.BUFFER:
                slots.add(buffer.attr[0])
    return tuple(sorted(slots))


def read_memory(
    root: Node, buffers: Mapping[int, Array], variables: Mapping[str, int]
) -> tuple[dict[int, Array], dict[int, Array]]:
    """Every buffer of the stage, flat and in its own NumPy dtype, and as it was given."""
    memory: dict[int, Array] = {}
    given: dict[int, Array] = {}
    written = written_slots(root)
    for node in toposort(root):
        if node.op is not Op.BUFFER:
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
        is_bits = node.dtype is BFLOAT16 and array.dtype == np.uint16
        if array.size < least or (array.dtype != wanted and not is_bits):
            raise DeviceError(
                f"buffer {slot}: is {array.size} {array.dtype}, expected {least} {node.dtype}"
            )
        given[slot] = array
        memory[slot] = np.ascontiguousarray(array).reshape(-1).view(wanted)
    return memory, given
