"""Accesses of images become pixels: four neighbouring elements are one READ or WRITE.

A READ of any elements takes them out of their pixels. A pixel can only be written whole, so WRITEs
of its four elements are gathered, from vectors or from scalars; one that is written in part is an
error. No half is left to the device to round: see pass halves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from compiler.errors import IllegalOptError
from compiler.ir import BOOL, CHANNELS, FLOAT32, VOID, DType, Node, Op, intern
from compiler.passes.context import Context
from compiler.passes.places import find_place, meaning
from compiler.rules import Builder, Terms, build_linear, exact_linear

_IMAGE, _READ, _WRITE, _SINK = Op.IMAGE, Op.READ, Op.WRITE, Op.SINK
_LANE, _SPLAT, _STACK = Op.LANE, Op.SPLAT, Op.STACK


def images(root: Node, context: Context) -> Node:
    """The graph whose images are read and written by pixel."""
    order = context.order(root)
    if not order.of(_IMAGE):
        return root
    pixels = _Pixels(context.builder, context.target.capabilities.float16_math)
    done: dict[Node, Node] = {}
    for node in order:
        src = tuple([done[child] for child in node.src])
        if node.op is _READ and src[0].op is _IMAGE:
            done[node] = pixels.read(node.dtype, src)
        elif node.op is _SINK:
            done[node] = intern(_SINK, VOID, pixels.effects(src), node.attr)
        elif src == node.src:
            done[node] = node
        else:
            done[node] = context.builder.build(node.op, node.dtype, src, node.attr)
    return done[root]


@dataclass(slots=True)
class _Written:
    """One pixel while the values of its channels are found."""

    number: int  # its place among the effects
    image: Node
    terms: Terms
    constant: int  # terms + constant is the number of the pixel
    like: Node
    gate: Node | None
    values: dict[int, Node] = field(default_factory=dict)  # by channel

    @property
    def is_whole(self) -> bool:
        return len(self.values) == CHANNELS


@dataclass(frozen=True, slots=True)
class _Pixels:
    """One run of the pass; `found` is its memo."""

    builder: Builder
    has_halves: bool  # the target computes with float16: pixels are read and written as such
    found: dict[tuple[object, ...], tuple[Node, Node | None]] = field(default_factory=dict)

    # --- reads ---

    def read(self, dtype: DType, src: tuple[Node, ...]) -> Node:
        """The elements that a READ asks for, out of their pixels."""
        image, offset = src[:2]
        lanes: list[tuple[Node, Node | None]] = []  # value, and the gate still to be asked
        for lane in range(dtype.count):
            gate = self.lane_of(src[2], lane) if len(src) == 3 else None
            lanes.append(self.element(image, offset, lane, gate))
        gates = [gate for _, gate in lanes]
        if all(gate is gates[0] for gate in gates):
            return self.chosen(self.stack([value for value, _ in lanes]), gates[0])
        return self.stack([self.chosen(value, gate) for value, gate in lanes])

    def element(
        self, image: Node, offset: Node, lane: int, gate: Node | None
    ) -> tuple[Node, Node | None]:
        """One element: a channel that is known, or one that is chosen where the kernel runs."""
        b = self.builder
        at = _pixel_of(offset, lane)
        if at is not None:
            terms, constant, channel = at
            pixel, kept = self.pixel(image, terms, constant, offset, gate)
            return b.build(_LANE, pixel.dtype.scalar, (pixel,), (channel,)), kept
        offset = b.add(offset, lane)
        if gate is None:
            gate = self.guard(image, offset, 1)
        number = b.idiv(offset, CHANNELS)
        pixel, _ = self.pixel(image, {number: 1}, 0, offset, None)
        values = [b.build(_LANE, pixel.dtype.scalar, (pixel,), (c,)) for c in range(CHANNELS)]
        chosen, channel_of = values[-1], b.mod(offset, CHANNELS)
        for channel in reversed(range(CHANNELS - 1)):
            chosen = b.where(b.eq(channel_of, channel), values[channel], chosen)
        return chosen, gate

    def pixel(
        self, image: Node, terms: Terms, constant: int, like: Node, gate: Node | None
    ) -> tuple[Node, Node | None]:
        """The pixel of that number, in the image's dtype, and the gate that its border leaves."""
        key = (image, frozenset(terms.items()), constant, gate)
        known = self.found.get(key)
        if known is None:
            place = find_place(self.builder, image, terms, constant, like, gate)
            value = intern(_READ, self.moved(image), (image, place.node))
            value = self.builder.cast(value, image.dtype)
            known = self.found[key] = (value, self.all_of(place.kept))
        return known

    def moved(self, image: Node) -> DType:
        """What a pixel of `image` is read and written as."""
        scalar = image.dtype if self.has_halves else FLOAT32
        return scalar.vec(CHANNELS)

    def chosen(self, value: Node, gate: Node | None) -> Node:
        """`value` where the gate holds, else 0."""
        if gate is None:
            return value
        count = value.dtype.count
        spread = gate if count == 1 else self.builder.build(_SPLAT, BOOL.vec(count), (gate,))
        return self.builder.where(spread, value, self.builder.const(value.dtype, 0))

    # --- writes ---

    def effects(self, src: Sequence[Node]) -> tuple[Node, ...]:
        """The effects of a kernel with WRITEs of whole pixels, each where its first part was."""
        made: list[Node] = []
        parts: dict[tuple[object, ...], _Written] = {}
        for node in src:
            if node.op is _WRITE and node.src[0].op is _IMAGE:
                for lane in range(node.src[2].dtype.count):
                    part = self.part(node, lane, parts, len(made))
                    if part.number == len(made):
                        made.append(node)  # stands for what comes below
                    if part.is_whole:
                        made[part.number] = self.write(part)
            else:
                made.append(node)
        for part in parts.values():
            if not part.is_whole:
                raise _partial(part.image)
        return tuple(made)

    def part(
        self, node: Node, lane: int, parts: dict[tuple[object, ...], _Written], number: int
    ) -> _Written:
        """The pixel to which one lane of a WRITE belongs, with its value."""
        image, offset, value = node.src[:3]
        at = _pixel_of(offset, lane)
        if at is None:
            raise _partial(image)
        terms, constant, channel = at
        gate = self.lane_of(node.src[3], lane) if len(node.src) == 4 else None
        key = (image, frozenset(terms.items()), constant, meaning(gate))
        part = parts.get(key)
        if part is None or part.is_whole:  # written again
            part = parts[key] = _Written(number, image, terms, constant, offset, gate)
        if channel in part.values:
            raise _partial(image)
        part.values[channel] = self.lane_of(value, lane)
        return part

    def write(self, part: _Written) -> Node:
        b, image, gate = self.builder, part.image, part.gate
        terms = {term: CHANNELS * factor for term, factor in part.terms.items()}
        if gate is None:
            first = build_linear(b, part.like, terms.items(), CHANNELS * part.constant)
            gate = self.guard(image, first, CHANNELS)
        place = find_place(b, image, part.terms, part.constant, part.like, gate)
        value = self.stack([part.values[channel] for channel in range(CHANNELS)])
        value = b.cast(value, self.moved(image))
        gates = () if gate is None else (gate,)
        return intern(_WRITE, VOID, (image, place.node, value, *gates))

    # --- nodes ---

    def stack(self, lanes: Sequence[Node]) -> Node:
        if len(lanes) == 1:
            return lanes[0]
        return self.builder.build(_STACK, lanes[0].dtype.vec(len(lanes)), tuple(lanes))

    def lane_of(self, vector: Node, lane: int) -> Node:
        if vector.dtype.count == 1:
            return vector
        return self.builder.build(_LANE, vector.dtype.scalar, (vector,), (lane,))

    def all_of(self, conditions: Sequence[Node]) -> Node | None:
        total: Node | None = None
        for condition in conditions:
            total = condition if total is None else self.builder.and_(total, condition)
        return total

    def guard(self, image: Node, offset: Node, count: int) -> Node | None:
        """What holds where `count` elements are inside of the image; None where that is proven."""
        b, last = self.builder, image.attr[1] - count
        found = exact_linear(offset)
        if found is not None and found[2][0] >= 0 and found[2][1] <= last:
            return None
        return b.and_(b.le(b.const(offset.dtype, 0), offset), b.le(offset, last))


def _pixel_of(offset: Node, lane: int) -> tuple[Terms, int, int] | None:
    """The number of the pixel that holds the element, and its channel, where that is fixed."""
    found = exact_linear(offset)
    if found is None:
        return None
    terms, constant, _ = found
    if any(factor % CHANNELS for factor in terms.values()):
        return None
    number, channel = divmod(constant + lane, CHANNELS)
    return {term: factor // CHANNELS for term, factor in terms.items()}, number, channel


def _partial(image: Node) -> IllegalOptError:
    return IllegalOptError(
        f"image {image.attr[0]} is written by pixel: UPCAST an axis of stride 1 by {CHANNELS} first"
    )
