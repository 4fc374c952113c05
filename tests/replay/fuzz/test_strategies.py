"""What the strategies of the fuzzer draw: valid kernels, legal schedules, always the same."""

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler import find_target
from compiler.ir import Spec, parse_node, print_node, verify
from compiler.kernel import apply_all, from_ast
from replay.fuzz.asts import STRATEGIES, asts
from replay.fuzz.schedules import schedules


@settings(max_examples=300, deadline=None)
@given(asts())
def test_every_drawn_kernel_is_valid(drawn):
    _, ast = drawn
    verify(ast, Spec.KERNEL)
    assert parse_node(print_node(ast)) is ast


@settings(max_examples=100, deadline=None)
@given(st.data(), st.sampled_from(("llvm", "opencl")))
def test_every_drawn_schedule_applies_whole(data, backend):
    target = find_target(backend)
    _, ast = data.draw(asts())
    opts = data.draw(schedules(ast, target))
    from_scratch = apply_all(from_ast(ast), opts, target)
    assert from_scratch.applied == opts


def test_strategies_have_names_of_their_own():
    names = [strategy.name for strategy in STRATEGIES]
    assert len(set(names)) == len(names)
