"""Which values get kernels of their own: the rules in the docstring of split.py."""

import numpy as np
import pytest

from compiler import Tensor, parse_node, print_node
from compiler.frontend.schedule import split
from compiler.frontend.schedule.rows import MAX_LEVELS, MAX_ROW, SMALL
from compiler.frontend.schedule.split import DEPTH, MAX_INPUTS
from compiler.frontend.storage import storage_of
from compiler.ir import Op, Spec, toposort, verify


def tensor(*shape, dtype=np.float32):
    return Tensor(np.zeros(shape, dtype), device="reference")


def kernels(*tensors):
    built = split([each.value for each in tensors], storage_of)
    for kernel in built:
        verify(kernel.ast, Spec.KERNEL)
        assert parse_node(print_node(kernel.ast)) is kernel.ast
    return built


def count(*tensors):
    return len(kernels(*tensors))


def ops(kernel):
    return [node.op for node in toposort(kernel.ast)]


# --- what is fused --------------------------------------------------------------------------------


def test_a_chain_of_elementwise_operations_is_one_kernel():
    x = tensor(4, 5)
    assert count(((x + 1) * x).exp().sqrt()) == 1


def test_movements_are_fused_into_loads():
    (kernel,) = kernels(tensor(4, 6).T[::-1, 1:].reshape(9, 2) * 2)
    assert ops(kernel).count(Op.LOAD) == 1


def test_matmul_bias_and_relu_are_one_kernel():
    assert count((tensor(4, 5) @ tensor(5, 6) + tensor(6)).relu()) == 1


def test_convolution_bias_and_relu_are_one_kernel():
    x, w, b = tensor(2, 3, 8, 8), tensor(4, 3, 3, 3), tensor(4)
    assert count(x.conv(w, b, padding=1).relu()) == 1


def test_what_many_outputs_read_is_padded_in_memory_once():
    def convolved(outputs):
        return tensor(2, 3, 8, 8).relu().conv(tensor(outputs, 3, 3, 3), padding=1)

    assert count(convolved(4)) == 1
    padding, product = kernels(convolved(8))
    assert [node.attr[0].has_mask for node in loads(padding)] == [True]
    assert [node.attr[0].has_mask for node in loads(product)] == [False, False]


def loads(kernel):
    return [node for node in toposort(kernel.ast) if node.op is Op.LOAD]


def test_a_reduction_read_twice_by_one_kernel_stays_inside_it():
    total = tensor(4, 5).sum(1)
    assert count(total * total + total) == 1


def test_two_reductions_over_the_same_sizes_share_their_axes():
    (kernel,) = kernels(tensor(4, 5).sum(1) + tensor(4, 5).max(1))
    assert [name for name, _ in kernel.ast.attr[0]] == ["g0", "r0"]


def test_reductions_over_other_sizes_have_axes_of_their_own():
    (kernel,) = kernels(tensor(4, 5).sum(1) + tensor(4, 6).sum(1))
    assert [name for name, _ in kernel.ast.attr[0]] == ["g0", "r0", "r1"]


# --- rows -----------------------------------------------------------------------------------------


def unkept(*tensors):
    """The kernels where a device has work-groups, or kernels are to be those of one that has."""
    return split([each.value for each in tensors], storage_of, keeps_rows=False)


def layernorm(x):
    return (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + 1e-5).sqrt()


def axes_of(kernel):
    return [name for name, _ in kernel.ast.attr[0]]


def test_softmax_reduces_each_row_twice_in_one_kernel():
    (kernel,) = kernels(tensor(4, 5).softmax(1))
    assert axes_of(kernel) == ["g0", "g1", "r0", "r1"]
    assert len(unkept(tensor(4, 5).softmax(1))) == 3


def test_a_normalised_row_is_one_kernel():
    assert count(layernorm(tensor(4, 5))) == 1
    assert len(unkept(layernorm(tensor(4, 5)))) == 3


def test_variance_takes_two_passes_over_a_row_in_one_kernel():
    (kernel,) = kernels(tensor(4, 5).var(1))
    assert axes_of(kernel) == ["g0", "r0", "r1"]
    assert len(unkept(tensor(4, 5).var(1))) == 2


def test_a_row_may_have_several_axes():
    x = tensor(4, 5, 6)
    assert count(x - x.mean((1, 2), keepdims=True)) == 1


def test_rows_lie_along_the_last_axes():
    assert count(tensor(4, 5).softmax(0)) == 3
    assert count(tensor(4, 5).var(0)) == 2


def test_a_device_with_work_groups_has_a_kernel_for_each_reduction():
    x = Tensor(np.zeros((4, 5), np.float32), device="opencl")
    assert count(x.softmax(1)) == 3


def test_rows_that_are_moved_are_stored_first():
    y = tensor(4, 5).softmax(1)
    assert count(y.T + 1) == 2
    assert count(y @ tensor(5, 3)) == 2


def test_a_row_that_no_cache_holds_is_reduced_by_kernels_of_their_own():
    assert count(tensor(16, MAX_ROW).softmax(1)) == 1
    assert count(tensor(16, MAX_ROW + 1).softmax(1)) == 3


def test_rows_too_few_for_threads_are_kept_only_where_they_are_short():
    assert count(tensor(2, SMALL // 2).softmax(1)) == 1
    assert count(tensor(2, SMALL // 2 + 1).softmax(1)) == 3


def test_a_kernel_reduces_a_row_so_many_times_and_no_more():
    x = tensor(16, 5)
    for _ in range(MAX_LEVELS):
        x = x - x.mean(1, keepdims=True)
    assert count(x) == 1
    assert count(x - x.mean(1, keepdims=True)) == 2


def test_rows_and_a_product_are_two_kernels():
    x = tensor(16, 5)
    assert count(layernorm(x) + x @ tensor(5, 5)) == 2


def test_a_result_of_rows_that_is_wanted_itself_is_stored_once():
    x = tensor(16, 5)
    mean = x.mean(1, keepdims=True)
    built = kernels(x - mean, mean)
    assert sum(ops(kernel).count(Op.REDUCE) for kernel in built) == 1


# --- what is cut ----------------------------------------------------------------------------------


def test_a_reduction_of_a_reduction_is_two_kernels():
    for kernel in kernels(tensor(4, 5).sum(1).max()):
        assert ops(kernel).count(Op.REDUCE) == 1
    assert count(tensor(4, 5).sum(1).max()) == 2


def test_a_reduction_is_not_run_for_padding():
    assert count(tensor(4, 5).sum(1).pad(2)) == 2


def test_a_reduction_read_by_two_kernels_runs_once():
    total = tensor(4, 5).sum(1)
    built = kernels(total.reshape(2, 2) + 1, total * 2)
    assert len(built) == 2
    assert sum(ops(kernel).count(Op.REDUCE) for kernel in built) == 1


def test_a_reduction_read_in_two_orders_by_one_kernel_runs_once():
    product = tensor(4, 5) @ tensor(5, 4)
    assert count(product + product.T) == 2


def test_the_value_after_the_chain_is_stored_not_the_reduction_before_it():
    hidden = (tensor(4, 5) @ tensor(5, 6)).relu()
    first, *_ = kernels(hidden @ tensor(6, 3))
    assert Op.MAX in ops(first)


def test_a_slow_function_is_not_repeated_for_every_column():
    x = tensor(64, 5)
    assert count(x.exp() @ tensor(5, 64)) == 2
    assert count(x.relu() @ tensor(5, 64)) == 1


def test_contiguous_asks_for_a_kernel():
    assert count((tensor(4, 5) + 1).contiguous() * 2) == 2


def test_a_kernel_reads_no_more_than_the_limit_of_buffers():
    total = tensor(4)
    for _ in range(100):
        total = total + Tensor(np.ones(4, np.float32), device="reference")
    for kernel in kernels(total):
        assert len(kernel.buffers) <= MAX_INPUTS + 1


def test_what_is_in_memory_is_not_computed_again():
    x = (tensor(4, 5) + 1).realize()
    assert count(x) == 0
    assert count(x * 2) == 1


def test_a_value_computed_for_one_tensor_serves_another_with_the_same_expression():
    x = Tensor([[1.0, 2.0]], device="reference")
    kept = x.sum(1)
    held = kept.value
    kept.realize()
    assert storage_of(held) is not None
    assert count(x.sum(1)) == 0


# --- the form of kernels --------------------------------------------------------------------------


def test_padding_an_expression_guards_it():
    (kernel,) = kernels(tensor(4).exp().pad(1))
    assert ops(kernel).count(Op.WHERE) >= 1


def test_padding_memory_needs_no_guard():
    (kernel,) = kernels(tensor(4).pad(1).astype("float64"))
    assert Op.WHERE not in ops(kernel)


def test_a_guard_inside_the_same_guard_is_dropped():
    parts = [tensor(4) * 2 + 1, tensor(3) * 3 + 1]
    (kernel,) = kernels(Tensor.concat(parts))
    assert ops(kernel).count(Op.WHERE) == 2


def test_memory_that_is_seen_in_two_ways_is_one_buffer():
    x = tensor(4, 4)
    (kernel,) = kernels(x + x.T)
    assert ops(kernel).count(Op.BUFFER) == 2
    assert ops(kernel).count(Op.LOAD) == 2


def test_loads_of_nothing_but_padding_are_zeros():
    (kernel,) = kernels(tensor(4).pad((0, 4))[4:] + 1)
    assert Op.LOAD not in ops(kernel)


def test_the_same_program_gives_the_same_kernels():
    def texts():
        x, w = tensor(8, 8), tensor(8, 8)
        out = ((x @ w).relu().softmax(1) + x.var(0)) @ w
        return [print_node(kernel.ast) for kernel in kernels(out)]

    assert texts() == texts()


# --- size -----------------------------------------------------------------------------------------


def long_chain(length):
    x = tensor(4)
    for _ in range(length):
        x = x + 1
    return x


def branching(length):
    x, w = tensor(4, 4), tensor(4, 4)
    for _ in range(length):
        x = (x @ w).relu() + x
    return x


@pytest.mark.parametrize("program", [long_chain, branching])
def test_scheduling_visits_grow_with_the_graph_and_no_faster(program):
    def visits(length):
        calls = 0

        def counted(value):
            nonlocal calls
            calls += 1
            return storage_of(value)

        split([program(length).value], counted)
        return calls

    assert visits(400) <= 2.2 * visits(200)


def test_a_chain_of_a_thousand_operations_is_cut_by_depth():
    assert count(long_chain(1000)) == -(-1000 // DEPTH)


def test_a_chain_of_functions_is_cut_between_them_not_inside():
    x = tensor(4)
    for _ in range(60):
        x = x.exp().log1p()
    for kernel in kernels(x):
        assert len(kernel.buffers) == 2
