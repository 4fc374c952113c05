"""Every switch that changes generated code. To add one: a field, and a test that shows it."""

from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import TypeVar

from compiler.errors import OptionError

Scalar = int | float | bool | str | None


class Transcendental(Enum):
    """Who computes exp2, log2, sin, ...: IEEE operations in the IR, or the platform's functions."""

    PORTABLE = "portable"
    NATIVE = "native"


class Heuristics(Enum):
    """How opts are chosen when the caller gives none."""

    DEFAULT = "default"
    NONE = "none"


class Cost(Enum):
    """By what a search for opts compares schedules."""

    MODEL = "model"  # cycles counted in the lowered kernel: the same everywhere, needs no device
    TIME = "time"  # of runs on the device; a measurement, so no function of the question


class CoreUse(Enum):
    """What heuristics make of a tensor core where the target has one. See the opt TC."""

    NONE = "none"
    REAL = "real"
    SHAPE = "shape"  # its loops alone, on any target
    EMULATED = "emulated"  # through local memory, on any target that has it


class CoreMatching(Enum):
    """The products that heuristics give to a tensor core, each also those before it."""

    LOADS = "loads"  # of what is read, under one reduce axis, in sizes that its tile divides
    CASTS = "casts"  # of casts of what is read, under several
    PADDED = "padded"  # in other sizes


ANY_CORE = "any"


def _check_types(group: object, prefix: str) -> None:
    """Refuse a value that is not of its default's type; a bool is no int here."""
    assert is_dataclass(group)
    for field in fields(group):
        value, like = getattr(group, field.name), field.default
        if like is not None and type(value) is not type(like):
            kind = type(like).__name__
            raise OptionError(
                f"option {prefix}{field.name} is {value!r}: use a value of type {kind}"
            )


def _named(value: Scalar) -> str | None:
    if value is not None and not isinstance(value, str):
        raise OptionError(f"option name is {value!r}: use a string")
    return value


@dataclass(frozen=True, slots=True)
class MathOptions:
    transcendental: Transcendental = Transcendental.PORTABLE
    fma: bool = True  # a product that feeds a sum reduce becomes MULACC

    def __post_init__(self) -> None:
        _check_types(self, "math.")


@dataclass(frozen=True, slots=True)
class ScheduleOptions:
    heuristics: Heuristics = Heuristics.DEFAULT
    max_nodes: int = 20_000  # nodes of one stage; more is an error that names the opt
    # targets with tensor cores
    core_use: CoreUse = CoreUse.REAL
    core: str = ANY_CORE  # or the name of one of compiler.ir.CORES
    core_matching: CoreMatching = CoreMatching.LOADS
    # targets with work-groups
    matvec: bool = True  # matrix times vector has opts of its own
    matvec_block: int = 4  # rows of a work-group
    matvec_threads: int = 8  # work items that share a row
    matvec_rows: int = 4  # rows of a work item
    group_outputs: int = 2048  # up to so many outputs, work items share a sum
    upcast_outputs: int = 1024  # from so many outputs on, work items compute several
    locals: bool = True  # False: NOLOCALS
    group_items: int = 128  # work items of a group
    # targets without
    tile_columns: int = 64  # of a register tile, contiguous in memory
    tile_rows: int = 14
    tile_registers: int = 32  # vectors that hold a tile, and what a step loads
    staged_rows: int = 32  # from so many rows on, their common columns are copied to a panel
    staged_bytes: int = 1 << 15  # of a buffer that is worth it
    vector_lanes: int = 16
    threaded: int = 16  # iterations of the outermost loop, so that threads can share it
    # all targets
    max_unrolled: int = 64  # copies of a statement from which on nothing more is unrolled

    def __post_init__(self) -> None:
        _check_types(self, "schedule.")
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                raise OptionError(f"option schedule.{field.name} is {value}: use 1 or more")


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Whether opts are searched for where the caller gives none, and how hard."""

    beam: int = 0  # schedules that are kept from round to round; 0: the heuristics choose
    depth: int = 6  # rounds; each adds an opt, or a few that belong together
    cost: Cost = Cost.MODEL
    tries: int = 300  # schedules that are lowered in all
    limit_s: int = 10  # for building and first running one, before it is given up; cost TIME

    def __post_init__(self) -> None:
        _check_types(self, "search.")
        for name, least in (("beam", 0), ("depth", 1), ("tries", 1), ("limit_s", 1)):
            value = getattr(self, name)
            if value < least:
                raise OptionError(f"option search.{name} is {value}: use {least} or more")

    @property
    def is_measured(self) -> bool:
        """Whether what is chosen depends on how fast something ran."""
        return self.beam > 0 and self.cost is Cost.TIME


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """The options of one compile. `name` is the user's name for the kernel, if there is one."""

    math: MathOptions = MathOptions()
    schedule: ScheduleOptions = ScheduleOptions()
    search: SearchOptions = SearchOptions()
    name: str | None = None

    def __post_init__(self) -> None:
        _check_types(self, "")
        _named(self.name)


DEFAULT = CompileOptions()

_T = TypeVar("_T")


def flatten(options: CompileOptions) -> dict[str, Scalar]:
    """Every option by dotted name, e.g. math.fma; enums by value."""
    return dict(_items(options, ""))


def _items(group: object, prefix: str) -> list[tuple[str, Scalar]]:
    found: list[tuple[str, Scalar]] = []
    assert is_dataclass(group)
    for field in fields(group):
        value = getattr(group, field.name)
        if is_dataclass(value):
            found.extend(_items(value, f"{prefix}{field.name}."))
        else:
            found.append((prefix + field.name, value.value if isinstance(value, Enum) else value))
    return found


def unflatten(values: dict[str, Scalar]) -> CompileOptions:
    """Options from dotted names over the defaults. OptionError names an unknown name or value."""
    known = flatten(DEFAULT)
    for name in values:
        if name not in known:
            raise OptionError(f"option {name!r} is unknown: use one of {', '.join(known)}")
    return CompileOptions(
        math=_group(MathOptions, "math.", values),
        schedule=_group(ScheduleOptions, "schedule.", values),
        search=_group(SearchOptions, "search.", values),
        name=_named(values.get("name")),
    )


def _group(group: type[_T], prefix: str, values: dict[str, Scalar]) -> _T:
    default = group()
    chosen: dict[str, object] = {}
    for field in fields(group):  # type: ignore[arg-type]  # every group is a dataclass
        if prefix + field.name not in values:
            continue
        value, like = values[prefix + field.name], getattr(default, field.name)
        chosen[field.name] = _convert(prefix + field.name, value, like)
    return group(**chosen)


def _convert(name: str, value: Scalar, like: object) -> object:
    if isinstance(like, Enum):
        allowed = [member.value for member in type(like)]
        if value not in allowed:
            raise OptionError(f"option {name} is {value!r}: use one of {', '.join(allowed)}")
        return type(like)(value)
    if type(value) is not type(like):
        raise OptionError(f"option {name} is {value!r}: use a value of type {type(like).__name__}")
    return value
