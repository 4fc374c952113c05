"""Gradients of what is put at places, and of sums of products by letters: central differences."""

import numpy as np
import pytest

from compiler import Tensor
from tests.frontend.gradient.differences import check

DISTINCT = np.array([[0, 3, 1], [1, -1, 2]])
REPEATED = np.array([[0, 3, 0], [-1, 3, -1]])
OUTSIDE = np.array([[0, 7, 0], [4, 3, -9]])


def numbers(*shape, seed=1):
    """No two alike and none near 0, whatever the seeds: greatest and least have no ties."""
    random = np.random.default_rng(seed)
    size = int(np.prod(shape))
    steps = (np.arange(size) + 1.0) / size * 1.7 + 0.15 + seed / 1000
    return (random.permutation(steps) * random.choice((-1, 1), size)).reshape(shape)


@pytest.mark.parametrize("reduce", [None, "add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("places", [DISTINCT, REPEATED, OUTSIDE], ids=["once", "again", "outside"])
def test_what_is_put_along_an_axis(reduce, places):
    at = Tensor(places, device="reference")
    turned = Tensor(places.T.copy(), device="reference")
    values = numbers(2, 3, seed=2)
    check(
        lambda x, v: x.put_along_axis(at, v, 1, reduce=reduce) ** 2,
        numbers(2, 4),
        values,
    )
    check(
        lambda x, v: x.put_along_axis(turned, v, 0, reduce=reduce) ** 2,
        numbers(4, 2),
        values.T.copy(),
    )


@pytest.mark.parametrize("reduce", [None, "add", "multiply", "maximum", "minimum"])
def test_one_number_put_at_many_places_gets_the_sum(reduce):
    at = Tensor(REPEATED, device="reference")
    check(lambda x, v: x.put_along_axis(at, v, 1, reduce=reduce) ** 2, numbers(2, 4), numbers(1))


EINSUMS = {
    "a letter twice": ("iij->j", (3, 3, 4)),
    "a diagonal": ("ii->i", (4, 4)),
    "a trace": ("ii", (4, 4)),
    "a letter three times": ("iii->i", (3, 3, 3)),
    "two letters twice": ("iijj->ij", (3, 3, 2, 2)),
    "a diagonal in a product": ("iij,jk->ik", (3, 3, 2), (2, 4)),
    "an ellipsis that broadcasts": ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    "an ellipsis in one operand": ("...i,i->...", (2, 3, 4), (4,)),
    "an ellipsis in the middle": ("i...j,j...->...i", (2, 5, 3), (3, 5)),
    "sums before the product": ("ij,k->i", (2, 3), (4,)),
    "all letters summed": ("ij,kl->", (2, 3), (4, 2)),
    "sorted letters": ("ba,ca", (2, 3), (4, 3)),
    "three in a chain": ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    "three of the same letter": ("i,i,i->i", (4,), (4,), (4,)),
    "a bilinear form in batches": ("bi,ijk,bk->bj", (2, 3), (3, 4, 2), (2, 2)),
    "a size of 1 that broadcasts": ("ij,ij->ij", (1, 3), (2, 3)),
}


@pytest.mark.parametrize("name", EINSUMS)
def test_einsum(name):
    subscripts, *shapes = EINSUMS[name]
    operands = [numbers(*shape, seed=seed) for seed, shape in enumerate(shapes, 1)]
    check(lambda *x: Tensor.einsum(subscripts, *x) ** 2, *operands)


def test_einsum_of_the_same_operand_twice():
    check(lambda x: Tensor.einsum("ij,jk->ik", x, x), numbers(3, 3))
