"""Found by proving every access: a gather from rows of symbolic size took all memory there is.

Whether it is inside was asked of a polynomial, whose parts are ordered by their text; of an offset
that is computed the text, written out, doubles with every value that is used twice. Their kind:
nothing about a size takes longer than its nodes are many.
"""

import numpy as np

from compiler import Tensor, Variable
from compiler.ir import INT64, Op, const, intern, sym

N = intern(Op.VAR, INT64, (), ("n", 1, 64))


def test_a_size_is_ordered_however_often_it_uses_its_parts():
    deep = N
    for step in range(200):
        deep = intern(Op.MAX, INT64, (deep, intern(Op.MOD, INT64, (deep, const(INT64, step + 3)))))
    assert sym.add(sym.mul(deep, N), sym.mul(N, deep)) is sym.mul(2, sym.mul(N, deep))


def test_places_that_were_computed_pick_from_rows_of_symbolic_size():
    numbers = np.arange(300, dtype=np.float32).reshape(5, 60) % 7
    x = Tensor(numbers, device="llvm").bind(Variable("n", 1, 64))
    found = x.take_along_axis(x.argmax(axis=1, keepdims=True), 1).numpy()
    assert found.tolist() == [[6.0]] * 5
