"""Every option changes something that is seen, and refuses what makes no sense. A new option: a
line in EFFECTS.
"""

from dataclasses import dataclass, fields
from enum import Enum

import pytest

from compiler import compile_kernel, find_target, parse_node
from compiler.compile import search_opts
from compiler.errors import CompilerError, OptionError
from compiler.ir import find_core
from compiler.options import DEFAULT, CompileOptions, flatten, unflatten
from tests.kernel.products import matmul

OPTIONS = flatten(DEFAULT)
SINGLE = find_core("cpu.outer16x16.f32")


def _copy(size, op="NEG", strides="(1)", shape=None):
    shape = shape or f"({size})"
    axes = ",".join([f"g{place}:{n}" for place, n in enumerate(shape.strip("()").split(","))])
    stored = "(1)" if shape == f"({size})" else "(1280,64,1)"
    return parse_node(f"""ir 1
%0 = BUFFER float32 slot=0 size={size}
%1 = BUFFER float32 slot=1 size=65536
%2 = LOAD float32 %1 view=[{shape}:{strides}]
%3 = {op} float32 %2
%4 = STORE void %0 %3 view=[{shape}:{stored}]
%5 = SINK void %4 axes=({axes})
""")


def _row_sum(rows, terms):
    return parse_node(f"""ir 1
%0 = BUFFER float32 slot=0 size={rows}
%1 = BUFFER float32 slot=1 size={rows * terms}
%2 = LOAD float32 %1 view=[({rows},{terms}):({terms},1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[({rows},{terms}):(1,0)]
%5 = SINK void %4 axes=(g0:{rows},r0:{terms})
""")


def _product(m, n, k):
    return matmul(m, n, k, SINGLE)


TWO_SUMS = parse_node("""ir 1
%0 = BUFFER float32 slot=0 size=4096
%1 = BUFFER float32 slot=1 size=16384
%2 = LOAD float32 %1 view=[(64,64,16,16):(256,0,16,1)]
%3 = BUFFER float32 slot=2 size=16384
%4 = LOAD float32 %3 view=[(64,64,16,16):(0,1,1024,64)]
%5 = MUL float32 %2 %4
%6 = REDUCE float32 %5 op=ADD axes=(r0,r1)
%7 = STORE void %0 %6 view=[(64,64,16,16):(64,1,0,0)]
%8 = SINK void %7 axes=(g0:64,g1:64,r0:16,r1:16)
""")
ENDLESS = parse_node(f"""ir 1
%0 = BUFFER float32 slot=0 size=1
%1 = BUFFER float32 slot=1 size=1
%2 = LOAD float32 %1 view=[({1 << 50}):(0)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[({1 << 50}):(0)]
%5 = SINK void %4 axes=(r0:{1 << 50})
""")
LINES = _copy(5120, strides="(2000,70,1)", shape="(4,20,64)")
CUBE, WIDE = _product(64, 64, 64), _product(510, 480, 512)
VECTOR, POWERS = _product(64, 1, 64), _copy(4096, "EXP2")
SHORT, LONG = _row_sum(12, 24), _row_sum(64, 4096)
# from nothing, since the heuristics' choice is hard to beat by the model
FREE = (("schedule.heuristics", "none"),)
BEAM = (*FREE, ("search.beam", 2))


@dataclass(frozen=True)
class Effect:
    """A value of an option that changes the kernel which a target gets for an AST."""

    value: object
    ast: object
    target: str = "llvm"
    beside: tuple = ()  # the options that both have


EFFECTS = {
    "math.transcendental": [Effect("native", POWERS)],
    "math.fma": [Effect(False, CUBE)],
    "schedule.heuristics": [Effect("none", CUBE)],
    "schedule.max_nodes": [Effect(1000, WIDE)],
    "schedule.core_use": [
        Effect("none", CUBE, "llvm/tiles"),
        Effect("shape", CUBE),
        Effect("emulated", CUBE),
    ],
    "schedule.core": [Effect("nvidia.m16n8k8.tf32", CUBE, "opencl/nvidia-sm80")],
    "schedule.core_matching": [
        Effect("casts", TWO_SUMS, "llvm/tiles"),
        Effect("padded", _product(60, 60, 60), "llvm/tiles"),
    ],
    "schedule.matvec": [Effect(False, VECTOR, "opencl")],
    "schedule.matvec_block": [Effect(8, VECTOR, "opencl")],
    "schedule.matvec_threads": [Effect(16, VECTOR, "opencl")],
    "schedule.matvec_rows": [Effect(8, VECTOR, "opencl")],
    "schedule.group_outputs": [Effect(63, LONG, "opencl")],
    "schedule.upcast_outputs": [Effect(1 << 20, CUBE, "opencl")],
    "schedule.locals": [Effect(False, CUBE, "opencl")],
    "schedule.group_items": [Effect(16, CUBE, "opencl")],
    "schedule.tile_columns": [Effect(16, WIDE)],
    "schedule.tile_rows": [Effect(5, WIDE)],
    "schedule.tile_registers": [Effect(16, WIDE)],
    "schedule.staged_rows": [Effect(1000, WIDE)],
    "schedule.staged_bytes": [Effect(1 << 30, WIDE)],
    "schedule.vector_lanes": [Effect(8, POWERS)],
    "schedule.threaded": [Effect(4, LINES)],
    "schedule.max_unrolled": [Effect(16, CUBE, "opencl")],
    "search.beam": [Effect(1, SHORT, beside=FREE)],
    "search.depth": [Effect(1, SHORT, beside=BEAM)],
    "search.cost": [Effect("time", SHORT, "opencl/nvidia", BEAM)],  # which is not at hand
    "search.tries": [Effect(2, SHORT, beside=BEAM)],
    "search.limit_s": [],  # see below: it decides nothing before a schedule takes so long
    "name": [Effect("softmax", POWERS)],
}
CASES = [(option, effect) for option, effects in EFFECTS.items() for effect in effects]


def compiled(effect, values):
    options = unflatten({**dict(effect.beside), **values})
    return compile_kernel(effect.ast, find_target(effect.target), options).program.source


def answer(question, *arguments):
    """What it returns, or the error that says why there is nothing."""
    try:
        return question(*arguments)
    except CompilerError as error:
        return str(error)


def test_every_option_has_a_line_here():
    assert list(EFFECTS) == list(OPTIONS)


@pytest.mark.parametrize(
    ("option", "effect"), CASES, ids=[f"{option}={effect.value}" for option, effect in CASES]
)
def test_an_option_changes_what_a_kernel_is_compiled_to(option, effect):
    before, after = compiled(effect, {}), answer(compiled, effect, {option: effect.value})
    assert before != after


def test_a_schedule_that_takes_longer_than_the_limit_is_given_up():
    reasons = []
    for limit_s in (1, 2):
        values = {"search.beam": 1, "search.tries": 1, "search.cost": "time"}
        found = search_opts(
            ENDLESS, find_target("llvm"), unflatten({**values, "search.limit_s": limit_s})
        )
        reasons.append(dict(found.dropped))
    assert reasons == [{"took more than 1 s": 2}, {"took more than 2 s": 2}]


def test_an_enum_has_a_line_for_each_value_but_the_default():
    for option, default in _defaults():
        if isinstance(default, Enum):
            others = [member.value for member in type(default) if member is not default]
            assert [effect.value for effect in EFFECTS[option]] == others, option


# --- what makes no sense ---


def _defaults():
    """Each option by dotted name, enums as they are."""
    for group in ("math", "schedule", "search"):
        values = getattr(DEFAULT, group)
        for field in fields(values):
            yield f"{group}.{field.name}", getattr(values, field.name)


BAD = {bool: (0, 1, "true", None), int: (True, 1.0, "4", None), str: (1, None), Enum: ("all", 1)}


def _bad_values():
    for option, default in _defaults():
        kind = Enum if isinstance(default, Enum) else type(default)
        for value in BAD[kind]:
            yield option, value
        if kind is int:
            yield option, -1


@pytest.mark.parametrize(("option", "value"), list(_bad_values()))
def test_a_value_that_makes_no_sense_is_refused_by_name(option, value):
    with pytest.raises(OptionError, match=rf"^option {option} is {value!r}: use "):
        unflatten({option: value})
    group, _, name = option.partition(".")
    with pytest.raises(OptionError, match=rf"^option {option} is {value!r}: use "):
        type(getattr(DEFAULT, group))(**{name: value})


@pytest.mark.parametrize("value", [1, True, b"softmax"])
def test_a_name_that_is_no_text_is_refused(value):
    with pytest.raises(OptionError, match=r"^option name is .*: use a string"):
        CompileOptions(name=value)


@pytest.mark.parametrize("beside", [{}, {"schedule.heuristics": "none"}])
def test_a_core_that_nobody_has_is_refused_whether_it_would_be_looked_for_or_not(beside):
    options = unflatten({"schedule.core": "wmma", **beside})
    with pytest.raises(OptionError, match=r"option schedule\.core is 'wmma': use any or one of nv"):
        compile_kernel(CUBE, find_target("llvm"), options)


@pytest.mark.parametrize("option", [name for name, value in _defaults() if type(value) is int])
@pytest.mark.parametrize("value", [1, 3, 10**12])
def test_a_number_however_small_or_large_gives_a_kernel_or_an_error_in_words(option, value):
    options = unflatten({**dict(FREE if option.startswith("search") else ()), option: value})
    for target in ("llvm", "opencl"):
        for ast in (CUBE, VECTOR, SHORT):
            if option != "search.beam" or value == 1:
                assert answer(compile_kernel, ast, find_target(target), options)
