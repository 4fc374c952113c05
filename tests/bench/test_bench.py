"""The bench times schedules in a child, whatever they do to it."""

import os
from dataclasses import replace

import pytest

from compiler.bench import Bench
from compiler.errors import DeviceError
from compiler.target import LLVM


@pytest.fixture
def bench(ast):
    with Bench(ast, LLVM, 4.0) as found:
        yield found


def test_programs_that_run_have_times(bench, program_of):
    times = bench.times([program_of(""), program_of("UPCAST g0 64")])
    assert all(isinstance(seconds, float) and seconds > 0 for seconds in times)


def test_programs_that_fail_have_reasons_and_the_others_have_times(bench, program_of, broken):
    bad = [broken[name] for name in ("refused", "endless", "deadly")]
    reasons = ["BuildError", "took more than 4 s", "ended its process by signal 11"]
    first, *failed, last = bench.times([program_of(""), *bad, program_of("UPCAST g0 64")])
    assert failed == reasons
    assert isinstance(first, float)
    assert isinstance(last, float)
    child = bench.child_pid
    assert bench.times(bad) == reasons
    assert bench.child_pid == child, "they are not tried again"


def test_who_is_careful_does_so_in_a_new_child(bench, program_of):
    programs = [program_of(""), program_of("UPCAST g0 64")]
    bench.times(programs)
    child = bench.child_pid
    times = bench.times(programs, is_careful=True)
    assert all(isinstance(seconds, float) and seconds > 0 for seconds in times)
    assert bench.child_pid != child


def test_its_child_ends_with_it(ast, program_of):
    with Bench(ast, LLVM, 5.0) as bench:
        bench.times([program_of("")])
        child = bench.child_pid
    assert child is not None
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_a_child_that_cannot_start_is_an_error_of_the_device(ast, program_of):
    nowhere = replace(LLVM, profile="nowhere")  # which no child finds
    with Bench(ast, nowhere, 5.0) as bench, pytest.raises(DeviceError, match="no child"):
        bench.times([program_of("")])
