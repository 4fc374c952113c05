"""Products equal NumPy's for every shape it takes."""

import numpy as np
import pytest

from compiler import Tensor
from compiler.errors import ShapeError
from compiler.frontend.schedule import split
from compiler.frontend.storage import storage_of
from compiler.ir import print_node

SHAPES = [
    ((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 3, 4), (4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)), ((3, 4), (6, 4, 2)), ((3, 0), (0, 4)), ((1, 1), (1, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_matmul_equals_numpys(tensor, check, random, left, right):
    a, b = random.integers(-4, 5, left), random.integers(-4, 5, right)
    check(tensor(a) @ tensor(b), a @ b)
    a, b = a.astype(np.float32), b.astype(np.float32)
    check(tensor(a) @ tensor(b), a @ b)


def test_matmul_of_bools_is_numpys(tensor, check, random):
    a = random.integers(0, 2, (3, 4)).astype(bool)
    check(tensor(a) @ tensor(a.T.copy()), a @ a.T)


def test_products_of_float16_are_summed_in_float32(tensor, check):
    a = np.full((1, 4096), 2.0, np.float16)
    check(tensor(a) @ tensor(a.T.copy()), np.array([[16384]], np.float16))


def test_tensordot_vecdot_and_outer_equal_numpys(tensor, check, random):
    a, b = random.integers(-4, 5, (2, 3, 4)), random.integers(-4, 5, (3, 4, 5))
    check(tensor(a).tensordot(tensor(b)), np.tensordot(a, b))
    check(tensor(a).tensordot(tensor(a), ((0, 2), (0, 2))), np.tensordot(a, a, ((0, 2), (0, 2))))
    check(tensor(a).tensordot(tensor(b), 0), np.tensordot(a, b, 0))
    check(tensor(a).vecdot(tensor(a)), (a * a).sum(-1))
    check(tensor(a[0]).outer(tensor(b[0])), np.outer(a[0], b[0]))


@pytest.mark.parametrize(("left", "right"), [((3, 4), (3, 4)), ((), (3,)), ((2, 3, 4), (3, 4, 5))])
def test_matrices_that_do_not_fit_are_a_value_error_that_names_their_shapes(tensor, left, right):
    with pytest.raises(ShapeError):
        tensor(np.zeros(left)) @ tensor(np.zeros(right))


SUBSCRIPTS = {
    "ij,jk->ik": ((3, 4), (4, 5)),
    "ij,jk,klm->im": ((3, 4), (4, 5), (5, 2, 3)),
    "ij->ji": ((3, 4),),
    "ji": ((3, 4),),
    "ii->i": ((3, 3),),
    "ii": ((3, 3),),
    "...j,jk->...k": ((2, 3, 4), (4, 5)),
    "i,j->ij": ((3,), (4,)),
    "ijk->": ((2, 3, 4),),
    "ijk,ijk->j": ((2, 3, 4), (2, 3, 4)),
}


@pytest.mark.parametrize("subscripts", SUBSCRIPTS)
def test_einsum_is_numpys(tensor, check, random, subscripts):
    arrays = [random.normal(size=shape) for shape in SUBSCRIPTS[subscripts]]
    found = Tensor.einsum(subscripts, *[tensor(array) for array in arrays])
    check(found, np.einsum(subscripts, *arrays), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("offset", [-5, -1, 0, 2, 5])
def test_diagonals_are_numpys(tensor, check, random, offset):
    x = random.normal(size=(2, 3, 4))
    check(tensor(x).diagonal(offset), np.diagonal(x, offset, -2, -1))
    check(tensor(x).trace(offset), np.trace(x, offset, -2, -1), rtol=1e-14)


def test_vector_products_are_numpys(tensor, check, random):
    a, b = random.normal(size=(4, 3)), random.normal(size=(4, 3))
    check(tensor(a).cross(tensor(b)), np.cross(a, b), rtol=1e-12, atol=1e-15)


def test_a_transposed_left_operand_of_long_sums_is_stored_row_by_row_first():
    a, b = np.ones((513, 8), np.float32), np.ones((513, 64), np.float32)
    kernels = split([(Tensor(a).T @ Tensor(b)).value], storage_of)
    assert len(kernels) == 2
    short = split([(Tensor(a[:512]).T @ Tensor(b[:512])).value], storage_of)
    narrow = split([(Tensor(a).T @ Tensor(b[:, :63])).value], storage_of)
    assert (len(short), len(narrow)) == (1, 1)


def test_a_transposed_operand_gives_numpys_product():
    rng = np.random.default_rng(3)
    a, b = rng.integers(-4, 5, (600, 70)), rng.integers(-4, 5, (600, 90))
    a, b = a.astype(np.float32), b.astype(np.float32)
    assert np.array_equal((Tensor(a).T @ Tensor(b)).numpy(), a.T @ b)
    assert np.array_equal((Tensor(b.T) @ Tensor(a.T).T).numpy(), b.T @ a)


def test_a_product_of_matrices_is_one_kernel_over_rows_columns_and_terms():
    a, b = np.ones((5, 6), np.float32), np.ones((6, 7), np.float32)
    (built,) = split([(Tensor(a) @ Tensor(b)).value], storage_of)
    assert print_node(built.ast).splitlines()[2:] == [
        "%1 = BUFFER float32 slot=1 size=30",
        "%2 = LOAD float32 %1 view=[(5,7,6):(6,0,1)]",
        "%3 = BUFFER float32 slot=2 size=42",
        "%4 = LOAD float32 %3 view=[(5,7,6):(0,1,7)]",
        "%5 = MUL float32 %2 %4",
        "%6 = REDUCE float32 %5 op=ADD axes=(r0)",
        "%7 = STORE void %0 %6 view=[(5,7,6):(7,1,0)]",
        "%8 = SINK void %7 axes=(g0:5,g1:7,r0:6)",
    ]
