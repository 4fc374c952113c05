"""Runs a kernel on chosen inputs between guard zones and judges every element that it wrote.

The steps are separate, because an old compiler runs in another process than the reference:
`cases` (inputs, and what is right for them), `observe` (one run on a device), `judge` (one run
against the reference and the old run), `verdict_of` (all runs of a kernel). `verify` does them all.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from compiler import Compiled
from compiler.backends import Argument, Device, Executable, Program, size_value
from compiler.backends.reference import Bound
from compiler.ir import Node, Op, toposort
from replay.compare.spelling import are_one_program
from replay.numerics.allowance import NATIVE, Allowance, allowance_of
from replay.numerics.inputs import (
    ATTEMPTS,
    Array,
    Kind,
    Sample,
    Slot,
    make_sample,
    shrink_to_fit,
    storage,
    variable_choices,
)
from replay.numerics.tolerance import (
    Comparison,
    Severity,
    Wrong,
    as_numbers,
    compare,
    digest,
    equal_bits,
    is_possible,
    rounded,
    same_bits,
)
from replay.outcome import Beside, Numerics

GUARD_BYTES = 4096  # on both sides of a buffer; a multiple of every device's alignment
MOST_BYTES = 1 << 28  # of all buffers of a kernel whose sizes are symbolic


@dataclass(frozen=True, slots=True)
class Case:
    """A run to be made: contents for every buffer, and what may be in them afterwards.

    `weak` says why a kernel that does nothing, or too little, would pass; None where none does.
    """

    sample: Sample
    bounds: Mapping[int, Bound]
    weak: str | None


@dataclass(frozen=True, slots=True)
class Observation:
    """What a run left in the buffers that the kernel may write, and what it wrote elsewhere."""

    outputs: Mapping[int, Array]
    strays: tuple[Wrong, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """One run against the reference. `equals_old` is None without an old run."""

    label: str
    numerics: Numerics
    comparisons: tuple[tuple[str, Comparison], ...]
    strays: tuple[Wrong, ...]
    digest: str
    weak: str | None
    equals_old: bool | None = None
    old_wrong: int = 0

    @property
    def first(self) -> Wrong | None:
        """The first wrong element, strays last."""
        found = [c.first for _, c in self.comparisons if c.first is not None]
        return [*found, *self.strays, None][0]

    def count(self, what: str) -> int:
        """The sum of a field of Comparison over all buffers."""
        return sum([int(getattr(comparison, what)) for _, comparison in self.comparisons])


@dataclass(frozen=True, slots=True)
class Verdict:
    """All runs of one kernel: the worst of them in one line, and each of them.

    `digest` covers all outputs of all runs: equal on two backends, it says they gave the same bits.
    """

    numerics: Numerics
    reason: str | None
    weak: str | None
    digest: str
    runs: tuple[Judged, ...]
    beside: Beside | None = None


def verify(
    new: Compiled,
    device: Device,
    seed: str,
    *,
    old: Compiled | None = None,
    kinds: Sequence[Kind] = tuple(Kind),
) -> Verdict:
    """Run a kernel, and its old version on the same device, on every kind of inputs.

    Where both are one program, each run is that of both. Raises BuildError and DeviceError.
    """
    runs: list[Judged] = []
    beside = None if old is None else beside_of(old.program, new.program)
    build_new = device.build(new.program)
    build_old = device.build(old.program) if old and beside is Beside.RUN else None
    for case in cases(new.ast, new.program.arguments, seed, kinds, allowance_of(new)):
        after = observe(device, new.program, build_new, case.sample)
        before = after if beside is Beside.TEXT else None
        if old is not None and build_old is not None:
            before = observe(device, old.program, build_old, case.sample)
        runs.append(judge(case, after, before))
    return replace(verdict_of(runs), beside=beside)


def beside_of(old: Program, new: Program) -> Beside:
    """How the old program takes part: by its text, where all that a device is given is the same."""
    is_one = are_one_program(old.source, new.source, new.target.backend)
    return Beside.TEXT if is_one and replace(old, source=new.source) == new else Beside.RUN


# --- inputs ---


def cases(
    ast: Node,
    arguments: Sequence[Argument],
    seed: str,
    kinds: Sequence[Kind] = tuple(Kind),
    allowance: Allowance = NATIVE,
) -> Iterator[Case]:
    """The runs by which a kernel is judged: symbolic sizes low, high and in the middle."""
    limits = {a.name: a.limits for a in arguments if a.limits is not None}
    for wish in variable_choices(limits):
        choice = shrink_to_fit(wish, limits, lambda v: _bytes(arguments, v), MOST_BYTES)
        for kind in kinds:
            slots = slots_of(arguments, choice)
            terms = terms_of(ast, choice)
            options = (
                make_sample(seed, kind, slots, choice, terms=terms, attempt=attempt)
                for attempt in range(1 if kind is Kind.SPECIAL else ATTEMPTS)
            )
            yield _choose(ast, options, allowance)


def slots_of(arguments: Sequence[Argument], variables: Mapping[str, int]) -> tuple[Slot, ...]:
    """The buffers among a kernel's arguments, by slot."""
    return tuple(
        [
            Slot(
                argument.name,
                argument.dtype.name,
                size_value(argument.size, variables),
                argument.role.value != "output",
                argument.is_written,
            )
            for argument in arguments
            if argument.is_buffer
        ]
    )


def _bytes(arguments: Sequence[Argument], variables: Mapping[str, int]) -> int:
    buffers = [argument for argument in arguments if argument.is_buffer]
    return sum([size_value(a.size, variables) * a.dtype.itemsize for a in buffers])


def terms_of(ast: Node, variables: Mapping[str, int]) -> int:
    """How many numbers the kernel combines into one at most: its reduce axes together."""
    reduced = {name for node in toposort(ast) if node.op is Op.REDUCE for name in node.attr[1]}
    sizes = [size_value(size, variables) for name, size in ast.attr[0] if name in reduced]
    return max(1, prod(sizes))


def _choose(ast: Node, samples: Iterable[Sample], allowance: Allowance) -> Case:
    """The first sample that tells a right kernel from one that does nothing; or else the first."""
    first: Case | None = None
    for sample in samples:
        given = {slot: x for slot, x in enumerate(sample.contents) if x is not None}
        bounds = allowance.bounds(ast, given, dict(sample.variables))
        case = Case(_filled(sample, bounds), bounds, why_weak(sample, bounds))
        if case.weak is None:
            return case
        first = first or case
    assert first is not None
    return first


def _filled(sample: Sample, bounds: Mapping[int, Bound]) -> Sample:
    """The sample with a wrong value in every element of its outputs, so that stale ones show."""
    contents = [
        _opposite(bounds[number], slot.dtype) if content is None else content
        for number, (slot, content) in enumerate(zip(sample.slots, sample.contents, strict=True))
    ]
    return replace(sample, contents=tuple(contents))


def _opposite(bound: Bound, dtype: str) -> Array:
    right = rounded(bound, dtype)
    if bound.value.dtype.kind == "f":
        wrong = np.where(np.isnan(bound.value), 1.0, np.nan)
        return rounded(replace(bound, value=wrong), dtype)
    return np.asarray(np.invert(right))


def why_weak(sample: Sample, bounds: Mapping[int, Bound]) -> str | None:
    """Why zeros, or a copy of an input, would pass as the results; None where they do not."""
    for slot, bound in bounds.items():
        name, dtype, size = sample.slots[slot].name, sample.slots[slot].dtype, bound.value.size
        if not bound.written.any():
            return f"nothing is written to {name}"
        if bound.undecided[bound.written].all():
            return f"no element of {name} is decided"
        guesses = [("zeros pass", np.zeros(size, storage(dtype)))]
        for number, content in enumerate(sample.contents):
            if content is not None and content.size and sample.slots[number].dtype == dtype:
                guesses.append(
                    (f"a copy of {sample.slots[number].name} passes", np.resize(content, size))
                )
        for what, guess in guesses:
            if is_possible(dtype, bound, guess, guess):
                return f"{what} as {name}"
    return None


# --- runs ---


def observe(
    device: Device, program: Program, executable: Executable, sample: Sample
) -> Observation:
    """Run a built program on a case's inputs. Raises DeviceError."""
    arguments = [argument for argument in program.arguments if argument.is_buffer]
    wholes, guarded = [], []
    for argument, slot, content in zip(arguments, sample.slots, sample.contents, strict=True):
        assert content is not None
        margin = GUARD_BYTES // argument.dtype.itemsize
        array = _between_guards(content, margin, slot.dtype)
        whole = device.allocate(argument.dtype, array.size)
        device.upload(whole, array)
        wholes.append((whole, array))
        guarded.append(device.view(whole, margin, slot.size))
    executable(guarded, dict(sample.variables))
    device.synchronize()
    outputs: dict[int, Array] = {}
    strays: list[Wrong] = []
    for number, (slot, (whole, before)) in enumerate(zip(sample.slots, wholes, strict=True)):
        after = device.download(whole)
        margin = (after.size - slot.size) // 2
        strays.extend(_strays(slot, before, after, margin))
        if slot.is_written:
            outputs[number] = after[margin : margin + slot.size].copy()
    return Observation(outputs, tuple(strays))


def _between_guards(content: Array, margin: int, dtype: str) -> Array:
    """NaNs around floats, so that what is read there shows as well; other bytes around the rest."""
    size = content.dtype.itemsize
    if dtype in _QUIET_NAN:
        bits = _QUIET_NAN[dtype] | (np.arange(margin, dtype=np.uint64) & np.uint64(0x3F))
        guard = bits.astype(np.dtype(f"u{size}")).view(content.dtype)
    else:
        guard = ((np.arange(margin * size) * 151 + 43) & 0xFF).astype(np.uint8).view(content.dtype)
    return np.concatenate([guard, content, guard])


_QUIET_NAN = {
    "float16": np.uint64(0x7E00),
    "bfloat16": np.uint64(0x7FC0),
    "float32": np.uint64(0x7FC00000),
    "float64": np.uint64(0x7FF8000000000000),
}


def _strays(slot: Slot, before: Array, after: Array, margin: int) -> Iterator[Wrong]:
    changed = ~equal_bits(before, after)
    if slot.is_written:
        changed[margin : margin + slot.size] = False
    if not changed.any():
        return
    index = int(np.flatnonzero(changed)[0])
    value, old = (str(as_numbers(x[index : index + 1], slot.dtype)[0]) for x in (after, before))
    inside = margin <= index < margin + slot.size
    what = "write to an input" if inside else "write outside the buffer"
    yield Wrong(slot.name, index - margin, value, old, "0", Severity.STRUCTURE, what)


# --- judgement ---


def judge(case: Case, new: Observation, old: Observation | None = None) -> Judged:
    """One run against the reference, and bit by bit against the old one."""
    slots = case.sample.slots
    comparisons = _compare_all(case, new)
    dtypes = {number: slots[number].dtype for number in new.outputs}
    equals_old = None if old is None else same_bits(new.outputs, old.outputs, dtypes)
    named = [(slots[n].name, slots[n].dtype, array) for n, array in sorted(new.outputs.items())]
    before = [] if old is None else [c for _, c in _compare_all(case, old)]
    return Judged(
        label=case.sample.label,
        numerics=_numerics(case, [c for _, c in comparisons], new.strays, is_same=bool(equals_old)),
        comparisons=comparisons,
        strays=new.strays,
        digest=digest(named),
        weak=case.weak,
        equals_old=equals_old,
        old_wrong=sum([c.wrong for c in before]),
    )


def _compare_all(case: Case, observation: Observation) -> tuple[tuple[str, Comparison], ...]:
    found: list[tuple[str, Comparison]] = []
    for number, bound in sorted(case.bounds.items()):
        slot, before = case.sample.slots[number], case.sample.contents[number]
        assert before is not None
        result = observation.outputs[number]
        found.append((slot.name, compare(slot.name, slot.dtype, bound, result, before)))
    return tuple(found)


def _numerics(
    case: Case, comparisons: Sequence[Comparison], strays: Sequence[Wrong], *, is_same: bool
) -> Numerics:
    """Special values overflow in one order of a sum only: what they leave open is no verdict."""
    if strays or any(not comparison.is_right for comparison in comparisons):
        return Numerics.WRONG
    if is_same or all(comparison.exact == comparison.elements for comparison in comparisons):
        return Numerics.EXACT
    is_open = any(comparison.undecided for comparison in comparisons)
    if is_open and case.sample.kind is not Kind.SPECIAL:
        return Numerics.UNDECIDED
    return Numerics.BOUNDED


_WORST_FIRST = (Numerics.WRONG, Numerics.UNDECIDED, Numerics.BOUNDED, Numerics.EXACT)


def verdict_of(runs: Sequence[Judged]) -> Verdict:
    """The worst run decides. Weak is a kernel of which no run with ordinary numbers is telling."""
    worst = min(runs, key=lambda run: _WORST_FIRST.index(run.numerics))
    ordinary = [run for run in runs if not run.label.startswith(Kind.SPECIAL.value)]
    weak = [run.weak for run in ordinary]
    return Verdict(
        numerics=worst.numerics,
        reason=_reason(worst),
        weak=None if None in weak else next(iter(weak), None),
        digest=digest([(run.label, run.digest, np.zeros(0)) for run in runs]),
        runs=tuple(runs),
    )


def _reason(run: Judged) -> str | None:
    match run.numerics:
        case Numerics.WRONG:
            return _wrong_reason(run)
        case Numerics.UNDECIDED:
            share = f"{run.count('undecided')} of {run.count('elements')} elements"
            return f"{share} differ behind an open comparison or cast ({run.label})"
        case Numerics.BOUNDED:
            worst = max([comparison.worst for _, comparison in run.comparisons])
            return f"uses {worst:.0%} of the bound at most ({run.label})"
        case _:
            return None


def _wrong_reason(run: Judged) -> str:
    first = run.first
    assert first is not None
    where = f"{first.buffer}[{first.index}]"
    if first in run.strays or first.what != "value":
        return f"{first.what}: {where} is {first.value}, was {first.expected} ({run.label})"
    counts = f"{run.count('wrong')} of {run.count('elements')} wrong"
    again = ", as before" if run.old_wrong and run.equals_old else ""
    return (
        f"{where} is {first.value}, expected {first.expected} within {first.bound}"
        f" ({first.severity.value}); {counts} ({run.label}){again}"
    )
