"""Launches over numbered buffers: what was given, what stays, what is scratch, what comes out.

Scratch is allocated once, for the greatest values of the variables, and shared by values that are
not needed at the same time. What comes out gets memory of its own in every run: earlier results
stay as they were.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from compiler.backends import Buffer, Executable, open_device, size_value
from compiler.frontend.assumptions import Assumption
from compiler.frontend.recording import Launched
from compiler.frontend.storage import Storage
from compiler.ir import DType, Op, Size, sym

Spec = tuple[str, DType, Size]  # device, dtype, elements
Variables = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Step:
    """One launch: the places of its buffers, outputs first."""

    executable: Executable
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """`buffers` has an entry for each place: None where a run puts its own."""

    buffers: tuple[Buffer | None, ...]
    kept: Mapping[int, Storage]  # constants of the program, by place
    fresh: Mapping[int, Spec]  # what comes out, by place
    steps: tuple[Step, ...]
    results: tuple[int, ...]  # the place of each result
    assumptions: tuple[Assumption, ...]  # that constants make

    def at(self, variables: Variables) -> "Ready":
        """The plan for these values of the variables: launch sizes, and sizes of what comes out."""
        fresh = [
            (place, device, dtype, size_value(size, variables))
            for place, (device, dtype, size) in self.fresh.items()
        ]
        launches = [_launch(step, self.buffers, variables) for step in self.steps]
        return Ready(self, tuple(fresh), tuple(launches))


@dataclass(frozen=True, slots=True)
class Ready:
    """A plan whose sizes are numbers."""

    plan: Plan
    fresh: tuple[tuple[int, str, DType, int], ...]  # place, device, dtype, elements
    launches: tuple[tuple[tuple[int, ...] | None, Callable[..., None]], ...]  # None: all is bound

    def run(self, given: Sequence[Storage]) -> list[Storage]:
        """The results over these arguments and state."""
        buffers = list(self.plan.buffers)
        storages = dict(self.plan.kept)
        for place, storage in enumerate(given):
            buffers[place], storages[place] = storage.on_device(), storage
        devices = {name: open_device(name) for _, name, _, _ in self.fresh}
        for place, device, dtype, size in self.fresh:
            buffer = buffers[place] = devices[device].allocate(dtype, size)
            storages[place] = Storage(device, dtype, size, None, buffer)
        for places, launch in self.launches:
            if places is None:
                launch()
            else:
                launch([buffers[place] for place in places])
        return [storages[place] for place in self.plan.results]


def _launch(
    step: Step, buffers: Sequence[Buffer | None], variables: Variables
) -> tuple[tuple[int, ...] | None, Callable[..., None]]:
    found = [buffers[place] for place in step.places]
    fixed = [buffer for buffer in found if buffer is not None]
    if len(fixed) == len(found):
        return None, step.executable.bind(fixed, variables)
    return step.places, step.executable.launcher(variables)


def plan(
    launches: Sequence[Launched], given: Sequence[Storage], results: Sequence[Storage]
) -> Plan:
    """The plan of what was launched between what was given and what came out."""
    places: dict[Storage, int] = {storage: place for place, storage in enumerate(given)}
    buffers: list[Buffer | None] = [None] * len(given)
    sizes = _sizes(launches)
    made = {storage for launched in launches for storage in launched.outputs}
    kept: dict[int, Storage] = {}
    for storage in _touched(launches, results):
        if storage not in places and storage not in made:
            places[storage] = len(buffers)
            kept[len(buffers)] = storage
            buffers.append(storage.on_device() if storage.size else None)
    fresh: dict[int, Spec] = {}
    for storage in results:
        if storage not in places:
            places[storage] = len(buffers)
            fresh[len(buffers)] = _spec(storage, sizes)
            buffers.append(None)
    _share(launches, places, buffers, sizes)
    steps = [_step(launched, places) for launched in launches]
    wanted = tuple([places[storage] for storage in results])
    fixed = tuple(_sizes_of_constants(launches, frozenset(kept.values())))
    return Plan(tuple(buffers), kept, fresh, tuple(steps), wanted, fixed)


def _sizes(launches: Iterable[Launched]) -> dict[Storage, Size]:
    """How many elements the outputs have, as formulas where they are such."""
    found: dict[Storage, Size] = {}
    for launched in launches:
        found.update(zip(launched.outputs, launched.sizes, strict=False))
    return found


def _sizes_of_constants(
    launches: Iterable[Launched], kept: Collection[Storage]
) -> Iterable[Assumption]:
    """A constant does not grow with a variable: what is read as such must stay what it was."""
    for launched in launches:
        sizes = launched.sizes[len(launched.outputs) :]
        for storage, size in zip(launched.inputs, sizes, strict=True):
            if storage in kept and not isinstance(size, int):
                yield Assumption(size, Op.EQ, storage.size, answer=True)


def _touched(launches: Iterable[Launched], results: Iterable[Storage]) -> Iterable[Storage]:
    for launched in launches:
        yield from launched.inputs
    yield from results


def _step(launched: Launched, places: Mapping[Storage, int]) -> Step:
    numbers = [places[storage] for storage in (*launched.outputs, *launched.inputs)]
    return Step(launched.executable, tuple(numbers))


def _share(
    launches: Sequence[Launched],
    places: dict[Storage, int],
    buffers: list[Buffer | None],
    sizes: Mapping[Storage, Size],
) -> None:
    """Give scratch its places: one is free again after the last kernel that reads it."""
    scratch = {s for launched in launches for s in launched.outputs if s not in places}
    last_use = {s: i for i, one in enumerate(launches) for s in (*one.outputs, *one.inputs)}
    free: dict[Spec, list[int]] = {}
    for index, launched in enumerate(launches):
        for output in [storage for storage in launched.outputs if storage in scratch]:
            reusable = free.get(_spec(output, sizes))
            if reusable:
                places[output] = reusable.pop()
            else:
                places[output] = len(buffers)
                most = sym.interval(sizes[output])[1]
                buffers.append(open_device(output.device).allocate(output.dtype, most))
        for storage in dict.fromkeys((*launched.outputs, *launched.inputs)):
            if storage in scratch and last_use[storage] == index:
                free.setdefault(_spec(storage, sizes), []).append(places[storage])


def _spec(storage: Storage, sizes: Mapping[Storage, Size]) -> Spec:
    return storage.device, storage.dtype, sizes.get(storage, storage.size)
