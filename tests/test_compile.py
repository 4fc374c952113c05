"""compile_kernel: what it answers, what it tells observers, and how it says no."""

import subprocess
import sys
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compiler
from compiler import (
    CompileFailed,
    CompileFinished,
    CompileOptions,
    CompileStarted,
    compile_kernel,
    find_target,
    observing,
    parse_node,
    print_node,
)
from compiler.backends import Role
from compiler.errors import DTypeError, IllegalOptError, OptionError, RewriteError, VerifyError
from compiler.estimates import estimates
from compiler.ir import FLOAT32, VOID, Op, View, ViewStack, intern
from compiler.kernel import parse_opts
from compiler.options import ScheduleOptions
from compiler.target import LLVM, OPENCL, Target

ROW_SUM = """ir 1
%0 = BUFFER float32 slot=0 size=12
%1 = BUFFER float32 slot=1 size=288
%2 = LOAD float32 %1 view=[(12,24):(24,1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(12,24):(1,0)]
%5 = SINK void %4 axes=(g0:12,r0:24)
"""
SYMBOLIC = """ir 1
%0 = VAR int64 name=n lo=1 hi=64
%1 = CONST int64 value=8 view=none
%2 = MUL int64 %0 %1
%3 = BUFFER float32 slot=0 size=%2
%4 = BUFFER float32 slot=1 size=%2
%5 = LOAD float32 %4 view=[(%0,8):(8,1)]
%6 = NEG float32 %5
%7 = STORE void %3 %6 view=[(%0,8):(8,1)]
%8 = SINK void %7 axes=(g0:%0,g1:8)
"""
TRANSPOSED_PLUS = """ir 1
%0 = BUFFER float32 slot=0 size=256
%1 = BUFFER float32 slot=1 size=256
%2 = LOAD float32 %1 view=[(16,16):(1,16)]
%3 = BUFFER float32 slot=2 size=256
%4 = LOAD float32 %3 view=[(16,16):(16,1)]
%5 = ADD float32 %2 %4
%6 = LOAD float32 %1 view=[(16,16):(16,1)]
%7 = ADD float32 %5 %6
%8 = STORE void %0 %7 view=[(16,16):(16,1)]
%9 = SINK void %8 axes=(g0:16,g1:16)
"""


def compiled(text=ROW_SUM, target=LLVM, opts=None, **kwargs):
    opts = None if opts is None else parse_opts(opts)
    return compile_kernel(parse_node(text), target, opts=opts, **kwargs)


def events_of(action):
    """The events of `action`, and what it raised."""
    events = []
    with observing(events.append):
        try:
            action()
        except compiler.CompilerError as error:
            return events, error
    return events, None


def test_a_compile_keeps_its_question():
    result = compiled(opts="UPCAST g0 4")
    assert result.ast is parse_node(ROW_SUM)
    assert (result.target, result.requested) == (LLVM, parse_opts("UPCAST g0 4"))
    assert result.applied == result.requested


def test_chosen_opts_are_applied_but_not_requested():  # row 87
    result = compiled(target=OPENCL)
    assert result.requested is None
    assert result.applied


def test_the_applied_opts_give_the_same_source_again():
    for target in (LLVM, OPENCL):
        first = compile_kernel(parse_node(ROW_SUM), target)
        again = compile_kernel(parse_node(ROW_SUM), target, opts=first.applied)
        assert again.program == first.program


def test_arguments_are_the_buffers_by_slot():
    arguments = compiled().program.arguments
    assert [(a.role, a.size) for a in arguments] == [(Role.OUTPUT, 12), (Role.INPUT, 288)]


def test_a_buffer_of_halves_is_an_argument_of_halves_on_every_target():
    for target in (LLVM, OPENCL):
        arguments = compiled(ROW_SUM.replace("float32", "float16"), target).program.arguments
        assert [a.dtype.name for a in arguments] == ["float16", "float16"]


def test_variables_come_after_the_buffers_with_their_limits():
    argument = compiled(SYMBOLIC).program.arguments[-1]
    assert (argument.role, argument.name, argument.limits) == (Role.VARIABLE, "n", (1, 64))


def test_a_users_name_goes_before_the_derived_one():  # row 84
    derived = compiled().program.name
    named = compiled(options=CompileOptions(name="soft max")).program.name
    assert named == f"soft_max_{derived}"


def test_the_name_is_that_of_the_function():
    for target in (LLVM, OPENCL):
        program = compiled(target=target).program
        assert f"{program.name}(" in program.source


def test_a_compile_does_not_depend_on_those_before_it():
    first = compiled()
    for size in range(2, 8):
        compiled(ROW_SUM.replace("r0:24", f"r0:{size}").replace("(12,24)", f"(12,{size})"))
    again = compiled()
    assert (first.program, first.rewrites) == (again.program, again.rewrites)
    assert [stage.digest() for stage in first.stages] == [s.digest() for s in again.stages]


# --- events ---


def test_a_start_is_told_before_the_ast_is_looked_at():  # row 3
    broken = intern(Op.SINK, parse_node(ROW_SUM).dtype, (), ((),))
    events, error = events_of(lambda: compile_kernel(broken, LLVM))
    assert isinstance(error, VerifyError)
    assert [type(event) for event in events] == [CompileStarted, CompileFailed]
    assert events[1].error == str(error)


def test_a_finish_carries_the_result():
    events, _ = events_of(compiled)
    assert [type(event) for event in events] == [CompileStarted, CompileFinished]
    assert events[1].compiled.program == compiled().program
    assert events[1].started is events[0]


# --- refusals ---


def test_an_illegal_opt_is_refused_by_name():
    with pytest.raises(IllegalOptError, match="UPCAST r0 4"):
        compiled(opts="UPCAST r0 4")


def test_a_backend_that_does_not_exist_is_refused_by_name():
    with pytest.raises(OptionError, match="cuda"):
        compiled(target=Target("cuda", "sm90", LLVM.capabilities))


def test_float64_is_refused_where_the_target_has_none():
    narrow = replace(LLVM, capabilities=replace(LLVM.capabilities, float64=False))
    with pytest.raises(DTypeError, match="has no float64"):
        compiled(ROW_SUM.replace("float32", "float64"), narrow)


def test_a_graph_above_the_node_limit_is_refused_with_its_lanes():
    options = CompileOptions(schedule=ScheduleOptions(max_nodes=20))
    with pytest.raises(RewriteError, match="UPCAST g0 12"):
        compiled(opts="UPCAST g0 12; UNROLL r0 24", options=options)


# --- estimates ---


def test_operations_are_counted_over_the_space_they_are_done_in():
    assert estimates(parse_node(ROW_SUM)).flops == 12 * 24
    assert estimates(parse_node(TRANSPOSED_PLUS)).flops == 2 * 256


def test_an_element_that_is_read_through_two_views_is_counted_once():  # row 86
    assert estimates(parse_node(TRANSPOSED_PLUS)).bytes == 3 * 256 * 4


def test_only_the_elements_that_are_visited_are_counted():
    text = ROW_SUM.replace("(12,24):(24,1)]", "(12,24):(24,0)]")
    assert estimates(parse_node(text)).bytes == (12 + 12) * 4


def test_overlapping_slices_are_counted_once():  # row 86
    text = """ir 1
%0 = BUFFER float32 slot=0 size=10
%1 = BUFFER float32 slot=1 size=100
%2 = LOAD float32 %1 view=[(10):(1)]
%3 = LOAD float32 %1 view=[(10):(1)+1]
%4 = ADD float32 %2 %3
%5 = LOAD float32 %1 view=[(10):(1)+50]
%6 = ADD float32 %4 %5
%7 = STORE void %0 %6 view=[(10):(1)]
%8 = SINK void %7 axes=(g0:10)
"""
    assert estimates(parse_node(text)).bytes == (10 + 11 + 10) * 4


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.tuples(*[st.integers(-3, 3)] * 3, st.integers(20, 40)), min_size=1, max_size=4))
def test_elements_of_windows_that_overlap_are_counted_once(windows):  # row 86
    shape = (3, 2, 4)
    output, source = [intern(Op.BUFFER, FLOAT32, (), (slot, 64)) for slot in (0, 1)]
    loads = [
        intern(
            Op.LOAD, FLOAT32, (source,), (ViewStack((View(shape, tuple(steps), offset, None),)),)
        )
        for *steps, offset in windows
    ]
    total = reduce(lambda a, b: intern(Op.ADD, FLOAT32, (a, b)), loads)
    placed = ViewStack((View(shape, (8, 4, 1), 0, None),))
    stored = intern(Op.STORE, VOID, (output, total), (placed,))
    root = intern(Op.SINK, VOID, (stored,), (tuple(zip(("g0", "g1", "g2"), shape, strict=True)),))
    found = {
        offset + int(np.dot(position, strides))
        for *strides, offset in windows
        for position in np.ndindex(shape)
    }
    assert estimates(root).bytes == 4 * (24 + len(found))


def test_every_other_element_is_counted_once_though_it_is_read_backwards_too():
    text = """ir 1
%0 = BUFFER float32 slot=0 size=10
%1 = BUFFER float32 slot=1 size=20
%2 = LOAD float32 %1 view=[(10):(2)]
%3 = LOAD float32 %1 view=[(10):(-2)+18]
%4 = ADD float32 %2 %3
%5 = STORE void %0 %4 view=[(10):(1)]
%6 = SINK void %5 axes=(g0:10)
"""
    assert estimates(parse_node(text)).bytes == (10 + 10) * 4


def test_symbolic_kernels_are_estimated_at_their_largest():  # row 86
    found = estimates(parse_node(SYMBOLIC))
    assert (found.flops, found.bytes) == (64 * 8, 2 * 64 * 8 * 4)


def test_the_schedule_does_not_change_the_estimate():
    assert compiled(opts="").program.estimates == compiled(opts="UPCAST g0 4").program.estimates


# --- the public names ---


def test_every_public_name_exists():
    assert all(getattr(compiler, name) is not None for name in compiler.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = compiler.nonsense


def test_importing_the_package_loads_no_part_of_it():
    code = "import sys, compiler; print([m for m in sys.modules if m.startswith('compiler.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_targets_are_found_by_name():  # row 2
    assert find_target("llvm") is LLVM
    assert print_node(compiled().ast) == ROW_SUM
