"""The trace of the rules that made a kernel, and the kernel that only some of them make."""

import pass_checks as k
import pytest

from compiler import compile_kernel, observing
from compiler.target import LLVM, OPENCL

KERNELS = {"any": k.ANY, "columns": k.COLUMN_SUM, "transpose": k.TRANSPOSE}
each_kernel = pytest.mark.parametrize("text", KERNELS.values(), ids=KERNELS.keys())
each_target = pytest.mark.parametrize("target", [LLVM, OPENCL], ids=lambda target: target.backend)


def traced(text, target, limit=None):
    """A compile and its trace."""
    trace = []
    return compile_kernel(k.ast(text), target, trace=trace, rewrite_limit=limit), trace


@each_target
@each_kernel
def test_a_trace_holds_every_counted_rewrite(text, target):
    compiled, trace = traced(text, target)
    assert len(trace) == compiled.rewrites > 0
    assert all(entry.before is not entry.after for entry in trace)


@each_target
@each_kernel
def test_a_limit_gives_the_state_after_that_many_applications(text, target):
    whole, trace = traced(text, target)
    for limit in range(whole.rewrites + 1):
        compiled, some = traced(text, target, limit)
        assert compiled.rewrites == limit
        assert some == trace[:limit]
    assert compiled.program == whole.program


@each_target
@each_kernel
def test_a_kernel_is_right_after_any_number_of_applications(text, target):
    root = k.ast(text)
    buffers = k.random_inputs(root)
    expected = k.outputs(root, buffers)
    count = traced(text, target)[0].rewrites
    for limit in {0, 1, count // 3, count // 2, count - 1}:
        found = k.outputs(traced(text, target, limit)[0].stages[-1].node, buffers)
        for slot, wanted in expected.items():
            k.assert_close(found[slot], wanted, f"slot {slot} after {limit} of {count}")


def test_a_trace_changes_nothing():
    assert traced(k.MATMUL, LLVM)[0].program == compile_kernel(k.ast(k.MATMUL), LLVM).program


def test_what_a_limit_makes_is_no_answer_for_observers():
    events = []
    with observing(events.append):
        traced(k.ROW_SUM, LLVM, limit=1)
    assert events == []
