"""Any sequence of opts, sense or not, applies whole or is refused in words and changes nothing."""

from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import IllegalOptError
from compiler.ir import CORES
from compiler.kernel import OPTS, Positional, Tc, apply_all, format_opts, from_ast, parse_opts
from compiler.target import LLVM, OPENCL, find_target
from replay.fuzz.asts import asts, products

TARGETS = (LLVM, OPENCL, find_target("llvm/tiles"), find_target("opencl/pocl"))
NAMES = [
    f"{axis}{piece}" for axis in ("g0", "g1", "r0", "r1") for piece in ("", ".o", ".i", ".o.o")
]
NUMBERS = st.sampled_from([2, 4, 3, 8, 16, 32, 0, 1, 5, 64, -1, 10**9])
ODD = st.sampled_from([None, True, 2.0, "4", (), b"g0"])


@st.composite
def opts(draw):
    """An opt of any kind with fields that may fit, seldom of the wrong type."""
    kind = draw(st.sampled_from((*OPTS, Positional)))
    if kind is Positional:
        op = draw(st.sampled_from([*[opt.op for opt in OPTS], "FUSE"]))
        return Positional(op, *draw(st.lists(st.one_of(NUMBERS, st.none()), max_size=4)))
    if kind is Tc:
        names = [draw(st.sampled_from(NAMES)) for _ in range(3)]
        core = draw(st.sampled_from([*[core.name for core in CORES], "wmma"]))
        return Tc(core, *names, draw(st.integers(-1, 3)), draw(st.integers(0, 4)))
    values = [
        draw(st.sampled_from(NAMES) if field.type is str else NUMBERS) for field in fields(kind)
    ]
    if values and draw(st.integers(0, 19)) == 0:
        values[draw(st.integers(0, len(values) - 1))] = draw(ODD)
    return kind(*values)


@st.composite
def kernels(draw):
    return products(draw) if draw(st.booleans()) else draw(asts())[1]


def _known(kernel):
    return kernel.axes, kernel.pads, kernel.staged, kernel.kept, kernel.tile, kernel.applied


def _applied(kernel, sequence, target):
    """The kernel after the opts, or the words with which one is refused. Nothing else is raised."""
    try:
        return apply_all(kernel, tuple(sequence), target)
    except IllegalOptError as error:
        return str(error)


def _check(ast, sequence, target):
    kernel = from_ast(ast)
    before = _known(kernel)
    after = _applied(kernel, sequence, target)
    assert _known(kernel) == before
    if isinstance(after, str):
        assert ": " in after
    else:
        assert len(after.applied) == len(sequence)
        assert apply_all(from_ast(ast), after.applied, target) == after
        assert parse_opts(format_opts(after.applied)) == after.applied


@settings(max_examples=300, deadline=None, database=None)
@given(kernels(), st.lists(opts(), min_size=1, max_size=3), st.sampled_from(TARGETS))
def test_any_opts_apply_whole_or_are_refused_in_words(ast, sequence, target):
    _check(ast, sequence, target)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None, database=None)
@given(kernels(), st.lists(opts(), min_size=1, max_size=4), st.sampled_from(TARGETS))
def test_thousands_of_opts_apply_whole_or_are_refused_in_words(ast, sequence, target):
    _check(ast, sequence, target)
