"""Recorded programs: what is run again, with what, and what is refused."""

import sys

import numpy as np
import pytest

from compiler import CompileReused, CompileStarted, JitError, Tensor, jit, observing, open_device
from compiler.frontend import graph
from compiler.frontend.schedule import split


def numbers(*shape, start=0):
    return np.arange(start, start + np.prod(shape), dtype=np.float32).reshape(shape)


@pytest.fixture
def make():
    return lambda data: Tensor(np.asarray(data, np.float32), device="reference")


@pytest.mark.parametrize("name", ["reference", "llvm"])
def test_new_arguments_give_what_the_function_gives_for_them(name):
    def function(x, y):
        return (x @ y).softmax(), x.sum()

    program = jit(function)
    for start in range(3):
        args = [Tensor(numbers(3, 3, start=start + i), device=name) / 9 for i in range(2)]
        for mine, wanted in zip(program(*args), function(*args), strict=True):
            assert mine.numpy().tobytes() == wanted.numpy().tobytes()


def test_the_python_code_runs_once_and_nothing_is_scheduled_again(make):
    calls = []
    program = jit(lambda x: calls.append(1) or (x * 2).contiguous().sum())
    program(make([1, 2]))
    ran = functions_called(lambda: program(make([3, 4])))
    assert calls == [1]
    assert split.__code__ not in ran
    assert program(make([3, 4])).numpy() == 14


def functions_called(action):
    found = set()
    sys.setprofile(lambda frame, event, argument: found.add(frame.f_code))
    try:
        action()
    finally:
        sys.setprofile(None)
    return found


def test_state_goes_from_one_call_to_the_next(make):
    total = make([0, 0])

    @jit(state=[total])
    def add(x):
        nonlocal total
        total += x
        return total * 10

    found = [add(make([1, i])).numpy().tolist() for i in range(4)]
    assert found == [[10, 0], [20, 10], [30, 30], [40, 60]]
    assert total.numpy().tolist() == [4, 6]


def test_states_may_change_places(make):
    a, b = make([1]), make([2])

    @jit(state=[a, b])
    def swap():
        a.value, b.value = b.value, (a + b).value

    for _ in range(4):
        swap()
    assert [a.numpy().item(), b.numpy().item()] == [8, 13]


def test_one_tensor_twice_is_recorded_as_two(make):
    program = jit(lambda x, y: x - y)
    x = make([1, 2])
    assert program(x, x).numpy().tolist() == [0, 0]
    assert program(make([5, 5]), x).numpy().tolist() == [4, 3]


def test_results_of_earlier_calls_stay_as_they_were(make):
    program = jit(lambda x: x + 1)
    found = [program(make([i])) for i in range(4)]
    assert [tensor.numpy().item() for tensor in found] == [1, 2, 3, 4]


def test_arguments_and_constants_may_be_returned(make):
    one = make([1])
    program = jit(lambda x: [x, one, {"twice": (x * 2, None, 3)}])
    program(make([5]))
    x, y, rest = program(make([7]))
    assert (x.numpy(), y.numpy(), rest["twice"][0].numpy()) == (7, 1, 14)
    assert rest["twice"][1:] == (None, 3)


def test_tensors_without_elements_go_through(make):
    program = jit(lambda x: (x * 2, x.sum()))
    for _ in range(2):
        empty, total = program(make(np.zeros((0, 2))))
        assert (empty.shape, total.numpy()) == ((0, 2), 0)


def test_scratch_is_shared_by_what_is_not_needed_at_once(make):
    def chain(x):
        for _ in range(10):
            x = (x * 2).contiguous()
        return x

    program = jit(chain)
    program(make(numbers(7)))
    scratch = [b for b in program.recorded.plan.buffers if b is not None]
    assert len(program.recorded.plan.steps) == 10
    assert len(scratch) == 2
    assert program(make(numbers(7))).numpy().tolist() == (numbers(7) * 1024).tolist()


REFUSED = {
    "another shape": (lambda f, m: f(m([1, 2, 3]), 2), r"0 is float32\[3\].* with float32\[2\]"),
    "another dtype": (
        lambda f, m: f(m([1, 2]).astype("float64"), 2),
        r"argument 0 is float64\[2\] on reference, .* with float32\[2\] on reference",
    ),
    "another device": (lambda f, m: f(Tensor(numbers(2)), 2), "on llvm, .* on reference"),
    "another number": (lambda f, m: f(m([1, 2]), 3), r"arguments\[0\]\[1\] is 3, .* with 2"),
    "another type": (lambda f, m: f(m([1, 2]), 2.0), r"arguments\[0\]\[1\] is 2.0, .* with 2"),
    "fewer": (lambda f, m: f(m([1, 2])), "a list of 1, .* a list of 2"),
    "by name": (lambda f, m: f(x=m([1, 2]), n=2), "a list of 0, .* a list of 2"),
    "an array": (lambda f, m: f(numbers(2), 2), r"arguments\[0\]\[0\] is ndarray: use tensors"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_was_not_recorded_is_refused(name, make):
    call, message = REFUSED[name]
    program = jit(lambda x, n=2: x * n)
    program(make([1, 2]), 2)
    with pytest.raises(JitError, match=message):
        call(program, make)


def test_elements_read_on_the_host_are_refused(make):
    with pytest.raises(JitError, match=r"shape \(2,\): its elements are read"):
        jit(lambda x: x * float(x.sum() > 0) if bool((x > 0).numpy()[0]) else x)(make([1, 2]))


def test_a_tensor_that_is_assigned_must_be_state(make):
    hidden = make([0])

    def function(x):
        nonlocal hidden
        hidden += x
        return hidden * 2

    with pytest.raises(JitError, match="1 float32 outlives the recording"):
        jit(function)(make([1]))


def test_an_argument_that_is_assigned_must_be_state(make):
    def function(x):
        x *= 2
        return x

    with pytest.raises(JitError, match="argument 0: the function assigns it"):
        jit(function)(make([1]))


def test_a_state_keeps_its_shape(make):
    total = make([1])

    @jit(state=[total])
    def grow():
        total.value = graph.pad(total.value, ((0, 1),))

    with pytest.raises(JitError, match=r"state 0 becomes float32\[2\].*float32\[1\]"):
        grow()
    assert total.numpy().tolist() == [1]


def test_a_failed_recording_leaves_the_state_as_it_was_and_may_be_tried_again(make):
    total = make([1])
    fails = [True, False]

    @jit(state=[total])
    def add(x):
        nonlocal total
        total += x
        if fails.pop(0):
            raise ValueError("not yet")
        return total

    with pytest.raises(ValueError, match="not yet"):
        add(make([1]))
    assert total.numpy() == 1
    assert add(make([1])).numpy() == 2


def test_a_program_inside_a_program_is_part_of_it(make):
    inner = jit(lambda x: (x * 3).contiguous() + 1)
    outer = jit(lambda x: inner(x) * 2)
    assert [outer(make([i])).numpy().item() for i in range(3)] == [2, 8, 14]


def test_who_observes_a_run_learns_of_its_kernels(make):
    program = jit(lambda x: (x + 21).contiguous() * 2)
    first, again = [], []
    with observing(first.append):
        program(make([1]))
    with observing(again.append):
        program(make([2]))
    asked = [event.ast for event in first if isinstance(event, CompileStarted | CompileReused)]
    assert len(asked) == 2
    assert [event.ast for event in again if isinstance(event, CompileReused)] == asked


def test_a_launch_bound_to_buffers_is_the_launch(make):
    device = open_device("llvm")
    program = jit(lambda x: (x + 1).contiguous() * 2)
    program(Tensor(numbers(4)))
    step = program.recorded.plan.steps[0]
    buffers = [device.allocate(program.recorded.signatures[0].dtype, 4) for _ in range(2)]
    launch = step.executable.bind(buffers)
    for start in range(3):
        device.upload(buffers[1], numbers(4, start=start))
        launch()
        assert device.download(buffers[0]).tolist() == (numbers(4, start=start) + 1).tolist()
