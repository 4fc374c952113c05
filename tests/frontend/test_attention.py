"""Attention is its formula, whatever may be seen."""

import numpy as np
import pytest

from compiler import Tensor
from compiler.errors import ShapeError
from tests.frontend.gradient.differences import check


def arrays(*shapes):
    random = np.random.default_rng(2)
    return [random.standard_normal(shape) for shape in shapes]


def formula(q, k, v, seen=True, added=0.0, scale=None):
    scores = q @ k.swapaxes(-1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    scores = np.where(seen, scores + added, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def attend(q, k, v, **options):
    q, k, v = [Tensor(x, device="reference") for x in (q, k, v)]
    options = {
        name: Tensor(x, device="reference") if isinstance(x, np.ndarray) else x
        for name, x in options.items()
    }
    return q.scaled_dot_product_attention(k, v, **options).numpy()


Q, K, V = arrays((2, 3, 5, 4), (2, 3, 6, 4), (2, 3, 6, 7))
SEEN = np.arange(30).reshape(5, 6) % 4 != 1
CASES = {
    "plain": ({}, {}),
    "scale": ({"scale": 0.3}, {"scale": 0.3}),
    "mask": ({"mask": SEEN}, {"seen": SEEN}),
    "added": ({"mask": SEEN * 2.0}, {"added": SEEN * 2.0}),
    "causal": ({"is_causal": True}, {"seen": np.tri(5, 6, dtype=bool)}),
    "both": ({"mask": SEEN, "is_causal": True}, {"seen": SEEN & np.tri(5, 6, dtype=bool)}),
}


@pytest.mark.parametrize("name", CASES)
def test_attention_is_its_formula(name):
    options, wanted = CASES[name]
    np.testing.assert_allclose(attend(Q, K, V, **options), formula(Q, K, V, **wanted), rtol=1e-12)


def test_a_query_that_sees_no_key_gets_0():
    mask = np.array([[False] * 6] + [[True] * 6] * 4)
    found = attend(Q, K, V, mask=mask)
    assert not found[..., 0, :].any()
    np.testing.assert_allclose(found[..., 1:, :], formula(Q, K, V)[..., 1:, :], rtol=1e-12)


def test_float16_is_rounded_once():
    q, k, v = [x.astype(np.float16) for x in (Q, K, V)]
    found = attend(q, k, v)
    assert found.dtype == np.float16
    wanted = formula(*[x.astype(np.float64) for x in (q, k, v)])
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-5)


def test_shapes_that_do_not_fit_are_refused_by_name():
    with pytest.raises(ShapeError, match=r"\(2, 3, 5, 4\) to \(2, 3, 6, 7\)"):
        attend(Q, V, V)


@pytest.mark.parametrize("is_causal", [False, True])
def test_gradients_of_attention(is_causal):
    check(
        lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=is_causal),
        *arrays((3, 2), (4, 2), (4, 3)),
    )
