"""What a device can do, without a device. To add one: a line in PROFILES."""

from dataclasses import dataclass

from compiler.errors import OptionError


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What decides the code that is generated; sizes in bytes, work-group sizes in work items."""

    has_local: bool = False  # work-groups, with barriers
    has_threads: bool = False  # ranges of the outermost GLOBAL axis may run in parallel
    shared_bytes: int = 0  # local memory: a group's; without groups, what a cache holds at once
    max_group_items: int = 1
    max_grid_dims: int = 3
    vector_widths: tuple[int, ...] = (16, 8, 4, 2)  # lanes, widest first; others split
    bool_vectors: bool = True  # comparisons and selects of vectors
    float16: bool = True  # halves convert in registers; else they move as uint16
    float64: bool = True
    fma: bool = True
    max_upcast: int = 16


@dataclass(frozen=True, slots=True)
class Target:
    """A backend and a named, frozen set of capabilities; the name is part of a record's key."""

    backend: str
    profile: str
    capabilities: Capabilities


LLVM = Target("llvm", "cpu", Capabilities(has_threads=True, max_upcast=64, shared_bytes=1 << 20))
OPENCL = Target(
    "opencl",
    "opencl-1.2",
    Capabilities(
        has_local=True, shared_bytes=32768, max_group_items=1024, bool_vectors=False, float16=False
    ),
)
REFERENCE = Target("reference", "reference", Capabilities())
PROFILES: tuple[Target, ...] = (LLVM, OPENCL, REFERENCE)


def find_target(backend: str, profile: str | None = None) -> Target:
    """The target of a backend and profile; the backend's first profile by default."""
    for target in PROFILES:
        if target.backend == backend and profile in (None, target.profile):
            return target
    known = ", ".join(f"{target.backend}/{target.profile}" for target in PROFILES)
    wanted = backend if profile is None else f"{backend}/{profile}"
    raise OptionError(f"target {wanted!r} is unknown: use one of {known}")
