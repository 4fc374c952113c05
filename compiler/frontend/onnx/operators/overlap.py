"""Non-maximum suppression of boxes, for all batches and classes at once."""

from compiler.frontend import graph
from compiler.frontend.functions import division, movement, reduce, scan
from compiler.frontend.functions import elementwise as ew
from compiler.frontend.functions.creation import arange_like
from compiler.frontend.functions.gathering import along_axis
from compiler.frontend.functions.indexing import take
from compiler.frontend.functions.ordering import argsort
from compiler.frontend.functions.positions import positions
from compiler.frontend.graph import Value
from compiler.frontend.realize import to_numpy
from compiler.ir import INT64


def suppress(
    boxes: Value,
    scores: Value,
    *,
    most: int,
    overlap: float,
    score: float | None,
    is_centred: bool,
) -> Value:
    """Rows (batch, class, box) of boxes that no better kept box overlaps, best first."""
    batches, classes, count = scores.shape
    order = graph.contiguous(argsort(scores, descending=True))  # b c n
    sorted_scores = along_axis(scores, order, 2)
    corners = graph.expand(
        graph.reshape(_corners(boxes, is_centred=is_centred), (batches, 1, 4, count)),
        (batches, classes, 4, count),
    )
    places = graph.expand(graph.reshape(order, (batches, classes, 1, count)), corners.shape)
    blocks = graph.contiguous(ew.greater(_ratios(along_axis(corners, places, 3)), overlap))
    valid = graph.full(1, blocks.dtype, scores.shape, scores.device)
    if score is not None:
        valid = ew.greater(sorted_scores, score)
    kept = _kept(graph.contiguous(valid), blocks)
    number = scan.cumsum(graph.cast(kept, INT64), 2)
    kept = graph.contiguous(ew.logical_and(kept, ew.less_equal(number, most)))
    found = positions(graph.reshape(kept, (kept.size,)))
    batch = division.floor_divide(found, classes * count)
    group = division.remainder(division.floor_divide(found, count), classes)
    box = take(graph.reshape(order, (order.size,)), found, 0)
    return movement.stack([batch, group, box], 1)


def _corners(boxes: Value, *, is_centred: bool) -> Value:
    """(batch, 4, box): low and high of the first axis, low and high of the second."""
    a, b, c, d = movement.unstack(boxes, 2)
    if is_centred:
        half_width, half_height = ew.multiply(c, 0.5), ew.multiply(d, 0.5)
        sides = [ew.subtract(b, half_height), ew.add(b, half_height)]
        sides += [ew.subtract(a, half_width), ew.add(a, half_width)]
    else:
        sides = [ew.minimum(a, c), ew.maximum(a, c), ew.minimum(b, d), ew.maximum(b, d)]
    return graph.contiguous(movement.stack(sides, 1))


def _ratios(corners: Value) -> Value:
    """[..., i, j]: the area that boxes i and j share over the area of both."""
    low, high, left, right = movement.unstack(graph.contiguous(corners), 2)

    def pair(x: Value) -> tuple[Value, Value]:
        shape = (*x.shape, x.shape[-1])
        column, line = movement.expand_dims(x, -1), movement.expand_dims(x, -2)
        return graph.expand(column, shape), graph.expand(line, shape)

    def shared(lows: Value, highs: Value) -> Value:
        reach = ew.subtract(ew.minimum(*pair(highs)), ew.maximum(*pair(lows)))
        return ew.maximum(reach, 0.0)

    area = ew.multiply(ew.subtract(high, low), ew.subtract(right, left))
    both = ew.add(*pair(area))
    common = ew.multiply(shared(low, high), shared(left, right))
    return ew.divide(common, ew.subtract(both, common))


def _kept(valid: Value, blocks: Value) -> Value:
    """A box is kept unless a kept one before it blocks it: repeated until nothing changes."""
    earlier = ew.less(arange_like(blocks, blocks.ndim - 2), arange_like(blocks, blocks.ndim - 1))
    blocks = graph.contiguous(ew.logical_and(blocks, earlier))  # [..., by, whom]
    kept = valid
    for _ in range(valid.shape[-1]):
        by = graph.expand(movement.expand_dims(kept, -1), blocks.shape)
        is_blocked = reduce.any_(ew.logical_and(by, blocks), blocks.ndim - 2)
        new = graph.contiguous(ew.logical_and(valid, ew.logical_not(is_blocked)))
        if not to_numpy(reduce.any_(ew.logical_xor(new, kept))).item():
            break
        kept = new
    return kept
