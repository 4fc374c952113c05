"""The laws of rules/ on random integer expressions: folded and unfolded trees have one value."""

from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.ir import BOOL, INT8, INT32, UINT8, Node, Op, bounds, const, intern, toposort, wrap
from compiler.ir.bounds import truncated_div
from compiler.rules import Builder

INTEGERS = (INT8, UINT8, INT32)


def evaluate(root: Node, values: dict[str, int]) -> int:
    done: dict[Node, int] = {}
    for node in toposort(root):
        args = [done[child] for child in node.src]
        done[node] = _evaluate_one(node, args, values)
    return done[root]


def _evaluate_one(node, args, values):
    if node.op is Op.CONST:
        return int(node.value)
    if node.op is Op.VAR:
        return values[node.attr[0]]
    result = SEMANTICS[node.op](*args)
    return int(bool(result)) if node.dtype is BOOL else wrap(node.dtype, result)


SEMANTICS = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.IDIV: truncated_div,
    Op.MOD: lambda a, b: 0 if b == 0 else a - truncated_div(a, b) * b,
    Op.MAX: max,
    Op.MIN: min,
    Op.AND: lambda a, b: a & b,
    Op.OR: lambda a, b: a | b,
    Op.XOR: lambda a, b: a ^ b,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.EQ: lambda a, b: a == b,
    Op.NE: lambda a, b: a != b,
    Op.NEG: lambda a: -a,
    Op.WHERE: lambda c, a, b: a if c else b,
}
BINARY = (Op.ADD, Op.SUB, Op.MUL, Op.IDIV, Op.MOD, Op.MAX, Op.MIN, Op.AND, Op.OR, Op.XOR)
COMPARE = (Op.LT, Op.LE, Op.EQ, Op.NE)


@st.composite
def expressions(draw):
    """A plain and a folded node of the same expression, and values for its variables."""
    dtype = draw(st.sampled_from(INTEGERS))
    low, high = int(dtype.lowest), int(dtype.highest)
    builder = Builder()
    values, leaves = {}, []
    for name in ("x", "y", "z"):
        lo = draw(st.integers(max(low, -40), 20))
        hi = draw(st.integers(lo, min(high, lo + draw(st.sampled_from((3, 60, 10**6))))))
        values[name] = draw(st.integers(lo, hi))
        var = intern(Op.VAR, dtype, (), (name, lo, hi))
        leaves.append((var, var))
    pool = list(leaves)
    for _ in range(draw(st.integers(1, 9))):
        op = draw(st.sampled_from(BINARY + COMPARE + (Op.NEG, "const", "where")))
        if op == "const":
            value = draw(st.sampled_from((0, 1, 2, 3, 4, 6, 8, 12, low, high)))
            pool.append((const(dtype, value),) * 2)
            continue
        pairs = [draw(st.sampled_from(pool)) for _ in range(3)]
        plain, folded = [p for p, _ in pairs], [f for _, f in pairs]
        if op is Op.NEG:
            pool.append((intern(op, dtype, (plain[0],)), builder.neg(folded[0])))
        elif op == "where" or op in COMPARE:
            kind = Op.LT if op == "where" else op
            condition = intern(kind, BOOL, (plain[0], plain[1]))
            pool.append(
                (
                    intern(Op.WHERE, dtype, (condition, plain[2], plain[0])),
                    builder.where(
                        builder.compare(kind, folded[0], folded[1]), folded[2], folded[0]
                    ),
                )
            )
        else:
            pool.append((intern(op, dtype, tuple(plain[:2])), builder.binary(op, *folded[:2])))
    return (*pool[-1], values)


@settings(max_examples=2000, deadline=None)
@given(expressions())
def test_folding_an_integer_expression_keeps_its_value(case):
    plain, folded, values = case
    assert evaluate(folded, values) == evaluate(plain, values)


@settings(max_examples=500, deadline=None)
@given(expressions())
def test_bounds_contain_every_value(case):
    plain, folded, values = case
    for node in toposort(plain, folded):
        low, high = bounds(node)
        assert low <= evaluate(node, values) <= high


@settings(max_examples=300, deadline=None)
@given(expressions())
def test_folding_is_idempotent(case):
    _, folded, _ = case
    builder = Builder()
    done: dict[Node, Node] = {}
    for node in toposort(folded):
        src = tuple(done[child] for child in node.src)
        done[node] = builder.build(node.op, node.dtype, src, node.attr)
    again = Builder()
    twice: dict[Node, Node] = {}
    for node in toposort(done[folded]):
        src = tuple(twice[child] for child in node.src)
        twice[node] = again.build(node.op, node.dtype, src, node.attr)
    assert twice[done[folded]] is done[folded]
