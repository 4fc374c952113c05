"""Memory on the way: freed and used again once nobody can ask for it, and only then."""

import gc
import threading
import tracemalloc

import numpy as np
import pytest

from compiler import CompileStarted, Tensor, compiling, observing, same_opts
from compiler.frontend.launches import counting_launches
from compiler.frontend.schedule import lifetimes, scratch_of, split
from compiler.frontend.storage import storage_of
from compiler.frontend.tensor import realize_all

ROWS, COLUMNS, LAYERS = 64, 512, 12
ONE = ROWS * COLUMNS * 4  # bytes of an activation


def activations(device="llvm"):
    x = np.random.default_rng(0).normal(size=(ROWS, COLUMNS)).astype(np.float32)
    return Tensor(x, device=device).realize()


def network(x):
    for _ in range(LAYERS):
        x = x.softmax(1).contiguous()
    return x


def scratch(*tensors):
    values = [each.value for each in tensors]
    built = split(values, storage_of)
    return built, scratch_of(built, values)


def test_the_peak_is_two_layers_not_all_of_them():
    network(activations()).realize()  # all but the first layer is compiled
    gc.collect()
    x = activations()
    y = network(x * 1)
    tracemalloc.start()
    y.realize()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 2 * ONE < peak < 6 * ONE  # with the compile of one layer; LAYERS * ONE without reuse


def test_the_planned_peak_is_the_measured_one():
    built, found = scratch(network(activations()))
    plan = lifetimes(built, found)
    assert plan.total_bytes == LAYERS * ONE
    assert 2 * ONE <= plan.peak_bytes < 2 * ONE + LAYERS * ROWS * 8
    assert sum(len(over) for over in plan.free_after) == len(found) == len(built) - 1


def test_reused_memory_gives_the_same_elements():
    x = activations()
    wanted = x.numpy()
    for _ in range(LAYERS):
        e = np.exp(wanted - wanted.max(1, keepdims=True))
        wanted = e / e.sum(1, keepdims=True)
    np.testing.assert_allclose(network(x).numpy(), wanted, rtol=1e-4)


def test_what_a_tensor_stands_for_is_kept():
    hidden = (activations() * 2).contiguous()
    result = (hidden + 1).sum(1)
    _, found = scratch(result)
    assert hidden.value not in found
    result.realize()
    events = []
    with observing(events.append):
        hidden.numpy()
    assert [event for event in events if isinstance(event, CompileStarted)] == []


def test_what_another_graph_reads_is_kept():
    hidden = (activations() * 2).contiguous()
    other, result = hidden - 1, (hidden + 1).sum(1)
    value = hidden.value
    del hidden
    _, found = scratch(result)
    assert value not in found
    del value
    assert other.shape == (ROWS, COLUMNS)


def test_what_nobody_stands_for_is_scratch():
    result = ((activations() * 2).contiguous() + 1).sum(1)
    built, found = scratch(result)
    assert len(built) == 2
    assert found == built[0].made


def test_threads_that_share_values_do_not_take_each_others_memory():
    x = activations()
    wanted, wrong = network(x).numpy(), []

    def work():
        for _ in range(10):
            if not np.array_equal(network(x).numpy(), wanted):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_explain_names_every_kernel_and_its_reason():
    text = (activations("reference") * 2).softmax(0).explain()
    first, *rest = text.split("\n")
    size = ONE + 2 * COLUMNS * 4
    assert first == f"3 kernels: {size} bytes of results, at most {size} of them at once"
    assert rest[0] == f"1. over g0:{COLUMNS} r0:{ROWS}: MUL, MAX over r0"
    assert sum("would run again" in line for line in rest) == 2
    assert sum("it was asked for" in line for line in rest) == 1
    assert f"   reads float32[{COLUMNS}] from kernel 1" in rest


@pytest.mark.parametrize(
    ("program", "is_asked"),
    [
        (lambda x: (x + 1).contiguous() * 2, True),
        (lambda x: x.sort(), False),
        (lambda x: x.argsort(), False),
        (lambda x: x.sort().contiguous().sum(), True),
    ],
)
def test_explain_says_contiguous_only_where_the_program_does(program, is_asked):
    found = program(activations("reference")).explain()
    assert ("contiguous() asks for it" in found) is is_asked


def test_explain_names_steps_of_a_function(tensor):
    assert (
        "it is a step of a function of several kernels"
        in tensor(np.arange(40.0)[::-1]).sort().explain()
    )


def test_explain_names_the_rows_that_a_kernel_keeps():
    text = activations("reference").softmax(1).explain()
    assert f"   keeps each row of {COLUMNS}: 2 reductions, one after the other" in text
    assert "keeps each row" not in activations("reference").sum(1).explain()


def test_explain_of_memory_needs_no_kernel():
    assert activations("reference").explain() == "no kernel: all of it is in memory"


def rows_as_a_line(x):
    return [x.softmax(1).reshape(-1)]


def one_value_in_two_shapes(x):
    return [x * 2, (x * 2).reshape(-1)]


def two_of_one_pass(x):
    return [x.sum(1), x.max(1), x.T]


@pytest.mark.parametrize("program", [rows_as_a_line, one_value_in_two_shapes, two_of_one_pass])
@pytest.mark.parametrize("targets", [None, ("llvm", "opencl")])
def test_explain_counts_the_kernels_that_run(program, targets):
    choose = None if targets is None else same_opts(*targets)
    with compiling(choose=choose), counting_launches() as launches:
        results = program(Tensor(np.ones((20, 30)), device="reference"))
        said = results[0].explain(*results[1:])
        realize_all(results)
    assert said.startswith(f"{launches.count} kernel")
