"""Which kernels become one with several outputs: the rules in the docstring of join.py."""

import numpy as np
import pytest

from compiler import Tensor
from compiler.frontend.realize import realize
from compiler.frontend.schedule import split
from compiler.frontend.storage import storage_of
from compiler.frontend.tensor import wrap
from compiler.ir import Op, Spec, toposort, verify


def tensor(*shape):
    generator = np.random.default_rng(len(shape))
    return Tensor(generator.normal(size=shape), device="reference")


def kernels(*tensors):
    built = split([each.value for each in tensors], storage_of)
    for kernel in built:
        verify(kernel.ast, Spec.KERNEL)
    return built


def loads(kernel):
    return [node for node in toposort(kernel.ast) if node.op is Op.LOAD]


def test_two_functions_of_one_array_are_one_kernel_that_reads_it_once():
    x = tensor(4, 5)
    (kernel,) = kernels(x.sin(), x.cos())
    assert len(kernel.made) == 2
    assert len(loads(kernel)) == 1


def test_two_reductions_over_one_axis_are_one_pass():
    x = tensor(4, 5)
    (kernel,) = kernels(x.max(1), x.sum(1))
    assert [name for name, _ in kernel.ast.attr[0]] == ["g0", "r0"]
    assert len(loads(kernel)) == 1


def test_a_value_and_a_function_of_it_are_one_kernel():
    y = tensor(4, 5).exp()
    (kernel,) = kernels(y, y + 1)
    assert len(kernel.read) == 1


def test_what_only_the_joined_kernel_reads_is_not_stored():
    total = tensor(4, 5).sum(1)
    (kernel,) = kernels(total + 1, total * 2)
    assert total.value not in kernel.made


def test_products_are_left_apart():
    x = tensor(4, 5)
    assert len(kernels(x @ tensor(5, 6), x @ tensor(5, 6) * 2)) == 2


def test_reductions_over_other_axes_are_left_apart():
    x = tensor(4, 4, 4)
    assert len(kernels(x.sum((1, 2)), x.reshape(4, 16)[:, :5].sum(1))) == 2


def test_other_shapes_are_left_apart():
    x = tensor(4, 5)
    assert len(kernels(x + 1, x.T + 1)) == 2


def test_a_value_that_is_seen_in_another_order_is_left_apart():
    x = tensor(4, 4).exp()
    assert len(kernels(x, x.T + 1)) == 2


def test_a_table_is_left_apart_from_the_gather():
    table = tensor(4) * 2
    assert len(kernels(table, table[Tensor([3, 2, 1, 0], device="reference")])) == 2


def test_kernels_around_a_third_are_left_apart():
    """The last needs a product that needs the first: no order of two kernels would do."""
    x = tensor(4, 4)
    first = x + 1
    assert [len(k.made) for k in kernels(first, (first @ first) + x)] == [1, 1]


def test_what_was_asked_to_be_apart_stays_apart():
    assert len(kernels((tensor(4, 5) + 1).contiguous() * 2)) == 2


def test_a_kernel_makes_no_more_than_a_few_values():
    x = tensor(4)
    assert [len(k.made) for k in kernels(*[x + n for n in range(1, 11)])] == [8, 2]


def test_joined_kernels_run_after_all_that_they_read(tensor_of):
    x = tensor_of((4, 4))
    first, product = x + 1, x @ x
    outputs = [first, product * 2, first * product, (first * product).sum(1)]
    found = [wrap(value).numpy() for value in realize([y.value for y in outputs])]
    n = x.numpy()
    wanted = [n + 1, n @ n * 2, (n + 1) * (n @ n), ((n + 1) * (n @ n)).sum(1)]
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.fixture
def tensor_of(device):
    return lambda shape: tensor(*shape).to(device)


def test_every_output_of_a_joined_kernel_is_right(tensor_of):
    x = tensor_of((6, 16))
    outputs = [x.max(1), x.sum(1), x.min(1) * 2]
    assert len(kernels(*outputs)) == 1
    found = [wrap(value).numpy() for value in realize([y.value for y in outputs])]
    n = x.numpy()
    for ours, theirs in zip(found, [n.max(1), n.sum(1), n.min(1) * 2], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_the_schedule_is_the_same_every_time():
    def program():
        x = tensor(4, 5)
        return kernels(x.sin(), x.cos(), x.max(1), x.sum(1), (x @ x.T).softmax(0))

    first, second = program(), program()
    assert [k.ast for k in first] == [k.ast for k in second]


def test_the_work_of_joining_grows_with_the_kernels_and_no_faster():
    """Counted in questions about memory, as in test_split."""

    def questions(length):
        calls = 0

        def counted(value):
            nonlocal calls
            calls += 1
            return storage_of(value)

        x, outputs = tensor(8), []
        for step in range(length):
            x = (x + step) @ tensor(8, 8) if step % 4 == 3 else x * 1.5
            outputs.append(x.value)
        built = split(outputs, counted)
        assert len(built) < length
        return calls

    assert questions(200) <= 2.2 * questions(100)
