"""What convolutions are differentiated to: two more convolutions.

The input's gradient is the gradient, spread out by the stride, convolved with the kernel read
backwards; the kernel's is the input convolved with the gradient, summed over the batch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from compiler.frontend import graph
from compiler.frontend.functions.movement import spread_out
from compiler.frontend.graph import Pairs, Value

STORED_FROM = 8  # outputs of a group

# convolve(x, weight, stride, padding, dilation, groups): without padding or stride of 1, plain
Convolve: TypeAlias = Callable[[Value, Value, "Geometry"], Value]


@dataclass(frozen=True, slots=True)
class Geometry:
    """How the windows of a convolution lie, for each spatial axis."""

    strides: tuple[int, ...]
    padding: Pairs
    dilations: tuple[int, ...]
    groups: int

    def plain(self, strides: tuple[int, ...], dilations: tuple[int, ...]) -> "Geometry":
        """The same groups with other steps, and no padding."""
        return Geometry(strides, ((0, 0),) * len(strides), dilations, self.groups)


def stored_once(padded: Value, x: Value, outputs: int) -> Value:
    """`padded`, in memory where it is more than `x` and enough outputs read each of its elements.

    Whether an element is padding is then decided once, and not by each of them.
    """
    is_read_often = padded is not x and outputs >= STORED_FROM
    return graph.contiguous(padded) if is_read_often else padded


def input_gradient(g: Value, x: Value, weight: Value, how: Geometry, convolve: Convolve) -> Value:
    """The gradient of `x` (n, c, *spatial) from that of the result (n, out, *places)."""
    dims, given = len(how.strides), g
    for i in range(dims):
        axis, reach = 2 + i, (weight.shape[2 + i] - 1) * how.dilations[i]
        span = (g.shape[axis] - 1) * how.strides[i] + 1
        before = how.padding[i][0]
        g = spread_out(g, axis, how.strides[i], span)
        g = _resized(g, axis, reach - before, x.shape[axis] - span + before)
    outputs, channels = weight.shape[0] // how.groups, weight.shape[1]
    g = stored_once(g, given, channels)
    taps = graph.flip(weight, tuple(range(2, 2 + dims)))
    taps = _swapped(taps, how.groups, outputs, channels)
    return convolve(g, taps, how.plain((1,) * dims, how.dilations))


def weight_gradient(g: Value, x: Value, weight: Value, how: Geometry, convolve: Convolve) -> Value:
    """The gradient of `weight` (out, c / groups, *kernel)."""
    batch, outputs, channels = x.shape[0], weight.shape[0], weight.shape[1]
    # as the convolution itself has it in memory
    x = graph.contiguous(graph.pad(x, ((0, 0), (0, 0), *how.padding)))
    # the channels of a group become the batch, the batch becomes the channels of its group
    seen = graph.reshape(x, (batch, how.groups, channels, *x.shape[2:]))
    seen = graph.permute(seen, (2, 1, 0, *range(3, seen.ndim)))
    seen = graph.reshape(seen, (channels, how.groups * batch, *x.shape[2:]))
    taps = graph.permute(g, (1, 0, *range(2, g.ndim)))
    found = convolve(seen, taps, how.plain(how.dilations, how.strides))
    found = graph.permute(found, (1, 0, *range(2, found.ndim)))
    ends = [(0, size) for size in (outputs, channels, *weight.shape[2:])]
    return graph.shrink(found, tuple(ends))  # windows that a stride did not reach


def _swapped(weight: Value, groups: int, outputs: int, channels: int) -> Value:
    """(groups * out, c, *kernel) as (groups * c, out, *kernel)."""
    kernel = weight.shape[2:]
    split = graph.reshape(weight, (groups, outputs, channels, *kernel))
    turned = graph.permute(split, (0, 2, 1, *range(3, split.ndim)))
    return graph.reshape(turned, (groups * channels, outputs, *kernel))


def _resized(x: Value, axis: int, before: int, after: int) -> Value:
    """So many zeros more at the ends of an axis; fewer than none cuts."""
    pads, cuts = [(0, 0)] * x.ndim, [(0, size) for size in x.shape]
    pads[axis] = (max(before, 0), max(after, 0))
    cuts[axis] = (max(-before, 0), x.shape[axis] - max(-after, 0))
    return graph.pad(graph.shrink(x, tuple(cuts)), tuple(pads))
