"""Laws of comparisons of integers and bools."""

from compiler.ir import BOOL, Node, Op, bounds
from compiler.rules.builder import Builder, Constants, Rule
from compiler.rules.fold import constant_of
from compiler.rules.linear import build_linear, exact_interval, exact_linear, linear

_LE, _ADD, _MUL, _EQ = Op.LE, Op.ADD, Op.MUL, Op.EQ


def _is_exact(node: Node) -> bool:
    return node.dtype.count == 1 and not node.src[0].dtype.is_float


def decided_by_bounds(b: Builder, node: Node) -> Node | None:
    """x < y is true or false where their intervals do not meet; x == x is true"""
    if not _is_exact(node):
        return None
    low, high = bounds(node)
    if low == high:
        return b.const(node.dtype, bool(low))
    if node.src[0] is node.src[1]:
        return b.const(node.dtype, node.op in (_LE, _EQ))
    return None


def less_or_equal_constant(b: Builder, node: Node) -> Node | None:
    """x <= c is x < c + 1 for ints, where c + 1 is representable"""
    limit = constant_of(node.src[1])
    if not _is_exact(node) or limit is None or limit >= node.src[1].dtype.highest:
        return None
    return b.lt(node.src[0], int(limit) + 1) if node.src[0].dtype.is_int else None


def move_constants_right(b: Builder, node: Node) -> Node | None:
    """f*x + c < d is x < ceil((d - c)/f), f > 0, for ints that do not wrap"""
    x, y = node.src
    limit = constant_of(y)
    if not _is_exact(node) or limit is None or not x.dtype.is_int or x.op not in (_ADD, _MUL):
        return None
    terms, constant = linear(x)
    if not terms or (constant == 0 and len(terms) > 1):
        return None
    found = exact_linear(x)
    if found is None:
        return None
    factor = next(iter(terms.values())) if len(terms) == 1 else 1
    if factor < 1 or (factor == 1 and constant == 0):
        return None
    rest = {term: value // factor for term, value in terms.items()}
    low, high = exact_interval(rest, 0)
    bound = -((constant - int(limit)) // factor)  # ceil((limit - constant) / factor)
    ends = (int(x.dtype.lowest), int(x.dtype.highest))
    if low < ends[0] or high > ends[1] or not ends[0] <= bound <= ends[1]:
        return None
    return b.lt(build_linear(b, x, rest.items(), 0), bound)


def bool_against_constant(b: Builder, node: Node) -> Node | None:
    """x == true is x, x != true is not x, for bools"""
    if node.src[0].dtype.scalar is not BOOL:
        return None
    value = constant_of(node.src[1])
    if value is None:
        return None
    keep = bool(value) == (node.op is _EQ)
    return node.src[0] if keep else b.not_(node.src[0])


RULES = (
    Rule("compare-decided-by-bounds", (Op.LT, Op.LE, Op.EQ, Op.NE), decided_by_bounds, exact=True),
    Rule("compare-bool-constant", (Op.EQ, Op.NE), bool_against_constant, constants=Constants.LAST),
    Rule(
        "compare-le-constant",
        (Op.LE,),
        less_or_equal_constant,
        constants=Constants.LAST,
        exact=True,
    ),
    Rule(
        "compare-move-constants",
        (Op.LT,),
        move_constants_right,
        constants=Constants.LAST,
        exact=True,
        first=(Op.ADD, Op.MUL),
    ),
)
