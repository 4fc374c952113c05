"""Images on the device: each mirrors a buffer, and is copied to or from it only when it has to be.

Kernels may take the same elements as an image or as a buffer; what was written last is known, and
the other one follows when it is asked for. Part of a buffer that other buffers see too is copied
back at once.
"""

from dataclasses import dataclass, field
from enum import Enum, auto

import pyopencl as cl

from compiler.errors import DeviceError
from compiler.ir import CHANNELS, FLOAT16, DType

_ORDER = cl.channel_order.RGBA
_NAMES = {cl.channel_type.FLOAT: "float32", cl.channel_type.HALF_FLOAT: "float16"}
_FORMATS = {True: cl.channel_type.HALF_FLOAT, False: cl.channel_type.FLOAT}


def image_support(context: cl.Context, handle: cl.Device) -> str:
    """Which images of ours the device has: `16384x16384 float16 float32`; empty if none."""
    if not handle.image_support:
        return ""
    flags, kind = cl.mem_flags.READ_WRITE, cl.mem_object_type.IMAGE2D
    formats = cl.get_supported_image_formats(context, flags, kind)
    kinds = [each.channel_data_type for each in formats if each.channel_order == _ORDER]
    names = sorted(name for kind, name in _NAMES.items() if kind in kinds)
    size = f"{handle.image2d_max_width}x{handle.image2d_max_height}"
    return " ".join([size, *names]) if names else ""


class Newest(Enum):
    """Where the elements are."""

    NOWHERE = auto()  # nothing has been written yet
    BUFFER = auto()
    IMAGE = auto()
    BOTH = auto()


@dataclass(slots=True, eq=False)
class Mirror:
    """The image of one buffer. Owned by the buffer; changed under the lock of its device."""

    is_shared: bool = False  # other buffers are in the same memory
    image: cl.Image | None = None
    shape: tuple[int, int] = (0, 0)  # its pixels
    newest: Newest = Newest.BUFFER


@dataclass(frozen=True, slots=True, eq=False)
class DeviceBuffer:
    """Elements on the device, `origin` bytes into `root`; without elements there is no memory."""

    dtype: DType
    size: int
    memory: cl.Buffer
    root: cl.Buffer
    origin: int = 0
    mirror: Mirror = field(default_factory=Mirror)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize


def as_memory(queue: cl.CommandQueue, buffer: DeviceBuffer, *, is_written: bool) -> cl.Buffer:
    """The buffer's memory with the elements in it, for someone who may write there."""
    mirror = buffer.mirror
    if mirror.newest is Newest.IMAGE:
        _copy_back(queue, buffer)
    if is_written:
        mirror.newest = Newest.BUFFER
    return buffer.memory


def as_image(queue: cl.CommandQueue, buffer: DeviceBuffer, width: int, size: int) -> cl.Image:
    """An image of rows of `width` pixels with the first `size` elements in it."""
    mirror, shape = buffer.mirror, (width, size // (CHANNELS * width))
    if mirror.image is None or mirror.shape != shape:
        as_memory(queue, buffer, is_written=mirror.newest is not Newest.NOWHERE)
        mirror.image, mirror.shape = _make(queue.context, buffer.dtype, shape), shape
    if mirror.newest is Newest.BUFFER or (mirror.is_shared and mirror.newest is Newest.BOTH):
        _copy(queue, buffer, mirror.image, buffer.root)
    return mirror.image


def has_written(queue: cl.CommandQueue, buffer: DeviceBuffer) -> None:
    """A kernel that writes the image has been started."""
    buffer.mirror.newest = Newest.IMAGE
    if buffer.mirror.is_shared:
        _copy_back(queue, buffer)


def _copy_back(queue: cl.CommandQueue, buffer: DeviceBuffer) -> None:
    assert buffer.mirror.image is not None, "it holds the elements"
    _copy(queue, buffer, buffer.root, buffer.mirror.image)


def _copy(
    queue: cl.CommandQueue, buffer: DeviceBuffer, to: cl.MemoryObject, source: cl.MemoryObject
) -> None:
    """One way or the other. The root at an offset: of a sub-buffer PoCL 3.1 copies to nowhere."""
    mirror = buffer.mirror
    cl.enqueue_copy(  # type: ignore[call-overload]  # its stubs do not know `offset`
        queue, to, source, offset=buffer.origin, origin=(0, 0), region=mirror.shape
    )
    mirror.newest = Newest.BOTH


def _make(context: cl.Context, dtype: DType, shape: tuple[int, int]) -> cl.Image:
    device = context.devices[0]
    most = (device.image2d_max_width, device.image2d_max_height)
    if shape[0] > most[0] or shape[1] > most[1]:
        raise DeviceError(
            f"opencl: an image of {shape[0]} x {shape[1]} pixels, the device takes "
            f"{most[0]} x {most[1]}"
        )
    layout = cl.ImageFormat(_ORDER, _FORMATS[dtype is FLOAT16])
    return cl.create_image(context, cl.mem_flags.READ_WRITE, layout, shape=shape)
