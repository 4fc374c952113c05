"""Launches over numbered buffers: what was given, what stays, what is scratch, what comes out.

Scratch is allocated once and shared by values that are not needed at the same time. What comes out
gets memory of its own in every run: earlier results stay as they were.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from compiler.backends import Buffer, Executable, open_device
from compiler.frontend.recording import Launched
from compiler.frontend.storage import Storage
from compiler.ir import DType

Spec = tuple[str, DType, int]  # device, dtype, elements


@dataclass(frozen=True, slots=True)
class Step:
    """One launch: the places of its buffers, outputs first."""

    executable: Executable
    places: tuple[int, ...]
    bound: Callable[[], None] | None  # the launch itself where all its buffers stay the same


@dataclass(frozen=True, slots=True)
class Plan:
    """`buffers` has an entry for each place: None where a run puts its own."""

    given: int  # the first places: arguments, then state
    buffers: tuple[Buffer | None, ...]
    kept: Mapping[int, Storage]  # constants of the program, by place
    fresh: Mapping[int, Spec]  # what comes out, by place
    steps: tuple[Step, ...]
    results: tuple[int, ...]  # the place of each result

    def run(self, given: Sequence[Storage]) -> list[Storage]:
        """The results over these arguments and state."""
        buffers = list(self.buffers)
        storages = dict(self.kept)
        for place, storage in enumerate(given):
            buffers[place], storages[place] = storage.on_device(), storage
        devices = {spec[0]: open_device(spec[0]) for spec in self.fresh.values()}
        for place, (device, dtype, size) in self.fresh.items():
            buffer = buffers[place] = devices[device].allocate(dtype, size)
            storages[place] = Storage(device, dtype, size, None, buffer)
        for step in self.steps:
            if step.bound is not None:
                step.bound()
            else:
                step.executable.launch([buffers[place] for place in step.places])  # type: ignore[misc]  # all are set by now
        return [storages[place] for place in self.results]


def plan(
    launches: Sequence[Launched], given: Sequence[Storage], results: Sequence[Storage]
) -> Plan:
    """The plan of what was launched between what was given and what came out."""
    places: dict[Storage, int] = {storage: place for place, storage in enumerate(given)}
    buffers: list[Buffer | None] = [None] * len(given)
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
            fresh[len(buffers)] = _spec(storage)
            buffers.append(None)
    _share(launches, places, buffers)
    steps = [_step(launched, places, buffers) for launched in launches]
    wanted = tuple([places[storage] for storage in results])
    return Plan(len(given), tuple(buffers), kept, fresh, tuple(steps), wanted)


def _touched(launches: Iterable[Launched], results: Iterable[Storage]) -> Iterable[Storage]:
    for launched in launches:
        yield from launched.inputs
    yield from results


def _step(
    launched: Launched, places: Mapping[Storage, int], buffers: Sequence[Buffer | None]
) -> Step:
    numbers = tuple([places[storage] for storage in (*launched.outputs, *launched.inputs)])
    found = [buffers[place] for place in numbers]
    fixed = [buffer for buffer in found if buffer is not None]
    bound = launched.executable.bind(fixed) if len(fixed) == len(found) else None
    return Step(launched.executable, numbers, bound)


def _share(
    launches: Sequence[Launched], places: dict[Storage, int], buffers: list[Buffer | None]
) -> None:
    """Give scratch its places: one is free again after the last kernel that reads it."""
    scratch = {s for launched in launches for s in launched.outputs if s not in places}
    last_use = {s: i for i, one in enumerate(launches) for s in (*one.outputs, *one.inputs)}
    free: dict[Spec, list[int]] = {}
    for index, launched in enumerate(launches):
        for output in [storage for storage in launched.outputs if storage in scratch]:
            reusable = free.get(_spec(output))
            if reusable:
                places[output] = reusable.pop()
            else:
                places[output] = len(buffers)
                buffers.append(open_device(output.device).allocate(output.dtype, output.size))
        for storage in dict.fromkeys((*launched.outputs, *launched.inputs)):
            if storage in scratch and last_use[storage] == index:
                free.setdefault(_spec(storage), []).append(places[storage])


def _spec(storage: Storage) -> Spec:
    return storage.device, storage.dtype, storage.size
