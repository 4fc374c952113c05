"""Random programs give the same bits on LLVM and OpenCL."""

import numpy as np
import pytest

from compiler.ir import FLOAT32, FLOAT64, INT32, INT64, UINT8, VOID, AxisKind, Op

DTYPES = (FLOAT32, FLOAT64, INT32, INT64, UINT8)
SIZE, TRIPS = 32, 3
ANY = (Op.ADD, Op.SUB, Op.MUL, Op.MAX, Op.MIN, Op.WHERE, Op.CAST)
OPS = {
    FLOAT32: (*ANY, Op.FDIV, Op.SQRT, Op.FLOOR, Op.RINT, Op.NEG, Op.MULACC),
    FLOAT64: (*ANY, Op.FDIV, Op.SQRT, Op.TRUNC, Op.CEIL, Op.NEG, Op.MULACC),
    INT32: (*ANY, Op.AND, Op.XOR, Op.NEG, Op.NOT, Op.MULACC),
    INT64: (*ANY, Op.OR, Op.XOR, Op.NEG, Op.NOT),
    UINT8: (*ANY, Op.AND, Op.OR, Op.NOT),
}
ARITY = dict.fromkeys((Op.SQRT, Op.FLOOR, Op.RINT, Op.TRUNC, Op.CEIL, Op.NEG, Op.NOT), 1)
ARITY |= {Op.MULACC: 3}


class Author:
    """Writes a random program: values of several dtypes before, in and after a loop."""

    def __init__(self, code, seed):
        self.code = code
        self.rng = np.random.default_rng(seed)
        self.pool = {dtype: [] for dtype in DTYPES}
        self.closed = frozenset()  # values of a loop that is over

    def pick(self, dtype):
        pool = self.pool[dtype]
        return pool[self.rng.integers(len(pool))]

    def step(self):
        dtype = DTYPES[self.rng.integers(len(DTYPES))]
        op = OPS[dtype][self.rng.integers(len(OPS[dtype]))]
        if op is Op.CAST:
            origin = self.origin(dtype)
            self.keep(self.code.emit(op, dtype, (self.pick(origin),)))
        elif op is Op.WHERE:
            other = DTYPES[self.rng.integers(len(DTYPES))]
            cond = self.code.compare(Op.LT, self.pick(other), self.pick(other))
            branches = (self.pick(dtype), self.pick(dtype))
            self.keep(self.code.emit(op, dtype, (cond, *branches)))
        else:
            operands = [self.pick(dtype) for _ in range(ARITY.get(op, 2))]
            self.keep(self.code.emit(op, dtype, operands))

    def keep(self, node):
        if node not in self.closed:
            self.pool[node.dtype].append(node)

    def origin(self, dtype):
        """A float goes to no integer: out of range is undefined, and the passes guard it."""
        allowed = [other for other in DTYPES if dtype.is_float or not other.is_float]
        return allowed[self.rng.integers(len(allowed))]

    def program(self, index, close):
        code = self.code
        for slot, dtype in enumerate(DTYPES):
            self.pool[dtype].append(code.read(code.buffer(5 + slot, dtype, SIZE), index))
            self.pool[dtype].append(code.const(dtype, 3))
        self.pool[INT32].append(index)
        self.steps(10)
        self.loop()
        self.steps(5)
        for slot, dtype in enumerate(DTYPES):
            code.write(code.buffer(slot, dtype, SIZE), index, self.pool[dtype][-1])
        close()
        return code.program()

    def loop(self):
        code = self.code
        accs = [code.emit(Op.ACC, dtype, (), (i,)) for i, dtype in enumerate((FLOAT32, INT64))]
        for acc in accs:
            code.emit(Op.INIT, VOID, (acc, self.pick(acc.dtype)))
        outside = {dtype: list(pool) for dtype, pool in self.pool.items()}
        loop = code.range("r0", TRIPS, AxisKind.REDUCE)
        before = frozenset(code.order)
        self.pool[INT32].append(loop)
        for acc in accs:
            self.pool[acc.dtype].append(acc)
        self.steps(10)
        values = [self.pool[acc.dtype][-1] for acc in accs]
        if any(value in accs for value in values):  # would be read after it was set
            values = [code.const(acc.dtype, 7) for acc in accs]
        sets = [code.emit(Op.SET, VOID, pair) for pair in zip(accs, values, strict=True)]
        end = code.end(loop, *sets)
        self.pool = outside
        self.closed = frozenset(code.order) - before
        for i, acc in enumerate(accs):
            self.pool[acc.dtype].append(code.emit(Op.RESULT, acc.dtype, (acc, end), (i,)))

    def steps(self, count):
        for _ in range(count):
            self.step()


def inputs_of(seed):
    rng = np.random.default_rng(seed)
    inputs = {}
    for slot, dtype in enumerate(DTYPES):
        if dtype.is_float:
            values = rng.standard_normal(SIZE) * 10.0 ** rng.integers(-30, 30, SIZE)
            values[:6] = [np.inf, -np.inf, np.nan, -0.0, 1e-310, 1e-42]
            inputs[5 + slot] = values.astype(dtype.name)
        else:
            low, high = int(dtype.lowest), int(dtype.highest)
            inputs[5 + slot] = rng.integers(low, high, SIZE, dtype.name, endpoint=True)
    return inputs


@pytest.mark.parametrize("seed", range(8))
def test_a_random_program_gives_the_same_bits_on_both_backends(llvm, opencl, code, same_bits, seed):
    results = []
    for runner in (llvm, opencl):
        author = Author(type(code)(), seed)
        node = author.program(*runner.index(author.code, SIZE))
        results.append(runner.run(node, inputs_of(seed))[:5])
    for dtype, ours, theirs in zip(DTYPES, *results, strict=True):
        same_bits(ours, theirs, str(dtype))
