"""What is measured of a kernel. To add a metric: a function with its unit, a line in METRICS.

Every metric is a pure function of facts: of the source and what belongs to it (`SOURCE`), or of the
machine code that this host makes of it (`CODE`). None is "not known", never zero.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from replay.artefact import Artefact
from replay.metrics.assembly import Code
from replay.metrics.nest import Work
from replay.outcome import Number


class Better(Enum):
    """Which way is an improvement. NEITHER: a difference is worth knowing, and no verdict."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


class Needs(Enum):
    """What a metric is computed from."""

    SOURCE = "source"
    CODE = "code"
    RUN = "run"  # two runs beside each other, see replay/phases/timing.py


@dataclass(frozen=True, slots=True)
class Facts:
    """All that is known of one side of a comparison."""

    artefact: Artefact | None = None
    work: Work | None = None
    elements: int | None = None  # of all buffers that the kernel may write
    code: Code | None = None
    cycles: float | None = None
    time: float | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a kernel. A `is_static` one counts text: where the loops of two kernels differ
    it says nothing of their speed, and is not counted as help or hurt."""

    name: str
    unit: str
    better: Better
    needs: Needs
    measure: Callable[[Facts], Number]
    is_static: bool = False

    @property
    def meaning(self) -> str:
        """What it is, in one sentence."""
        return " ".join((self.measure.__doc__ or "").split())


# --- of runs ---


def time(facts: Facts) -> Number:
    """Time of a run by `--time`, old = 1; 1 where its interval includes 1; times the old."""
    return facts.time


# --- of the source ---


def iterations(facts: Facts) -> Number:
    """Loop bodies that one launch runs at the largest sizes, work items included; iterations."""
    return None if facts.work is None else facts.work.iterations


def loads_per_element(facts: Facts) -> Number:
    """Elements read from buffers for each element of the outputs, as if every gate were open;
    elements per element."""
    if facts.work is None or not facts.elements:
        return None
    return round(facts.work.reads / facts.elements, 4)


def loops(facts: Facts) -> Number:
    """Loops in the source; loops."""
    return None if facts.work is None else facts.work.loops


def flops(facts: Facts) -> Number:
    """Arithmetic of one launch by the compiler's estimate from the AST; operations."""
    return _estimate(facts, "flops")


def bytes_moved(facts: Facts) -> Number:
    """Every element moved once, by the compiler's estimate from the AST; bytes."""
    return _estimate(facts, "bytes")


def rewrites(facts: Facts) -> Number:
    """Cost of the compile: applications of rewrite rules; applications."""
    return None if facts.artefact is None else facts.artefact.rewrites


def _estimate(facts: Facts, name: str) -> Number:
    if facts.artefact is None or facts.artefact.estimates is None:
        return None
    value = getattr(facts.artefact.estimates, name)
    return value if isinstance(value, int) else None


# --- of the machine code ---


def cycles(facts: Facts) -> Number:
    """One iteration of every innermost loop by llvm-mca's model, added up; cycles."""
    return facts.cycles


def instructions(facts: Facts) -> Number:
    """All instructions of the function; instructions."""
    return _count(facts, "instructions")


def vector(facts: Facts) -> Number:
    """Instructions on all lanes of a vector, or on masks; instructions."""
    return _count(facts, "vector")


def scalar(facts: Facts) -> Number:
    """Instructions that are neither vector nor jumps nor calls; instructions."""
    return _count(facts, "scalar")


def loads(facts: Facts) -> Number:
    """Instructions that read memory, stack included; instructions."""
    return _count(facts, "loads")


def stores(facts: Facts) -> Number:
    """Instructions that write memory, stack included; instructions."""
    return _count(facts, "stores")


def branches(facts: Facts) -> Number:
    """Jumps, with a condition or without; instructions."""
    return _count(facts, "branches")


def calls(facts: Facts) -> Number:
    """Calls of other functions; instructions."""
    return _count(facts, "calls")


def spills(facts: Facts) -> Number:
    """Writes to slots of the function's own stack; instructions."""
    return _count(facts, "spills")


def reloads(facts: Facts) -> Number:
    """Reads of slots of the function's own stack; instructions."""
    return _count(facts, "reloads")


def code_loops(facts: Facts) -> Number:
    """Places that the machine code jumps back to; loops."""
    return _count(facts, "loops")


def vector_bits(facts: Facts) -> Number:
    """The widest register of a vector instruction; bits."""
    return _count(facts, "vector_bits")


def vector_registers(facts: Facts) -> Number:
    """Different vector registers in use; registers."""
    return _count(facts, "vector_registers")


def general_registers(facts: Facts) -> Number:
    """Different general registers in use, without the stack pointer; registers."""
    return _count(facts, "general_registers")


def _count(facts: Facts, name: str) -> Number:
    return None if facts.code is None else int(getattr(facts.code, name))


_LOWER, _HIGHER, _NEITHER = Better.LOWER, Better.HIGHER, Better.NEITHER
_SOURCE, _CODE = Needs.SOURCE, Needs.CODE

METRICS: tuple[Metric, ...] = (
    # in the order of reports: what decides how long a kernel runs comes first
    Metric("time", "times the old", _LOWER, Needs.RUN, time),
    Metric("iterations", "iterations", _LOWER, _SOURCE, iterations),
    Metric("loads_per_element", "elements/element", _LOWER, _SOURCE, loads_per_element),
    Metric("cycles", "cycles", _LOWER, _CODE, cycles, is_static=True),
    Metric("instructions", "instructions", _LOWER, _CODE, instructions, is_static=True),
    Metric("spills", "instructions", _LOWER, _CODE, spills, is_static=True),
    Metric("reloads", "instructions", _LOWER, _CODE, reloads, is_static=True),
    Metric("vector_bits", "bits", _HIGHER, _CODE, vector_bits),
    Metric("vector", "instructions", _NEITHER, _CODE, vector, is_static=True),
    Metric("scalar", "instructions", _LOWER, _CODE, scalar, is_static=True),
    Metric("loads", "instructions", _LOWER, _CODE, loads, is_static=True),
    Metric("stores", "instructions", _LOWER, _CODE, stores, is_static=True),
    Metric("branches", "instructions", _LOWER, _CODE, branches, is_static=True),
    Metric("calls", "instructions", _LOWER, _CODE, calls, is_static=True),
    Metric("loops", "loops", _NEITHER, _SOURCE, loops),
    Metric("code_loops", "loops", _NEITHER, _CODE, code_loops),
    Metric("vector_registers", "registers", _NEITHER, _CODE, vector_registers),
    Metric("general_registers", "registers", _NEITHER, _CODE, general_registers),
    Metric("flops", "operations", _NEITHER, _SOURCE, flops),
    Metric("bytes", "bytes", _NEITHER, _SOURCE, bytes_moved),
    Metric("rewrites", "applications", _LOWER, _SOURCE, rewrites),
)
