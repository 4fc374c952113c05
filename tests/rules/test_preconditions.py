"""What a Rule says of itself is true: where it need not be called, it would do nothing."""

from dataclasses import replace
from itertools import product

import pytest

from compiler.ir import BINARY, BOOL, COMPARISONS, FLOAT32, INT32, Op, const, intern, why_malformed
from compiler.rules import ALL, Builder, Constants, RuleBuilder, constant_of, index_by_op

_PLAIN = (Op.NEG, Op.NOT, Op.CAST)
_VALUES = tuple(sorted(BINARY | COMPARISONS | {*_PLAIN, Op.WHERE, Op.LANE}, key=lambda op: op.name))
_EVERYTHING = index_by_op(
    [replace(rule, constants=Constants.ANY, exact=False, first=()) for rule in ALL]
)
_FLAGGED = [rule for rule in ALL if rule.constants is not Constants.ANY or rule.exact or rule.first]


def _integers():
    x, y = (intern(Op.VAR, INT32, (), (name, 0, 9)) for name in "xy")
    three = const(INT32, 3)
    made = [intern(op, INT32, (x, three)) for op in (Op.ADD, Op.MUL, Op.IDIV, Op.MOD)]
    return [x, y, *made, intern(Op.ADD, INT32, (x, y)), three]


def _operands():
    integers = _integers()
    floats = [intern(Op.CAST, FLOAT32, (x,)) for x in integers[:2]]
    floats += [intern(op, FLOAT32, (floats[0], const(FLOAT32, 1.0))) for op in (Op.ADD, Op.MUL)]
    bools = [intern(Op.LT, BOOL, (integers[0], x)) for x in integers[1:3]]
    bools.append(intern(Op.NOT, BOOL, (bools[0],)))
    vectors = [intern(Op.SPLAT, INT32.vec(4), (x,)) for x in (*integers[:2], integers[-1])]
    vectors.append(intern(Op.STACK, INT32.vec(4), tuple(integers[:4])))
    return [integers, [*floats, const(FLOAT32, 1.0)], [*bools, const(BOOL, True)], vectors]


def _nodes(op):
    for values in _operands():
        for x, y in product(values, values):
            yield from _over(op, x, y)


def _over(op, x, y):
    if op in _PLAIN:
        once = intern(op, x.dtype, (x,))
        yield from (once, intern(op, x.dtype, (once,)))
    elif op is Op.LANE:
        yield from [intern(op, x.dtype.scalar, (x,), (1,))] if x.dtype.count > 1 else ()
    elif op is Op.WHERE:
        yield from [intern(op, x.dtype, (bit, x, y)) for bit in _bools(x.dtype.count)]
    else:
        yield intern(op, BOOL.vec(x.dtype.count) if op in COMPARISONS else x.dtype, (x, y))


def _bools(count):
    less = intern(Op.LT, BOOL, (intern(Op.VAR, INT32, (), ("x", 0, 9)), const(INT32, 3)))
    bits = [less, intern(Op.NOT, BOOL, (less,))]
    return bits if count == 1 else [intern(Op.SPLAT, BOOL.vec(count), (bit,)) for bit in bits]


def _is_called(rule, node):
    first, last = (constant_of(node.src[place]) is not None for place in (0, -1))
    is_float = node.src[0].dtype.is_float
    if rule.first and node.src[0].op not in rule.first:
        return False
    return rule.constants.admits(first=first, last=last) and not (rule.exact and is_float)


@pytest.mark.parametrize("rule", _FLAGGED, ids=lambda rule: rule.name)
def test_a_rule_does_nothing_where_it_is_not_called(rule):
    for op in rule.ops:
        for node in _nodes(op) if op in _VALUES else ():
            assert _is_called(rule, node) or rule.apply(Builder(), node) is None, node


@pytest.mark.parametrize("op", _VALUES, ids=lambda op: op.name)
def test_a_builder_folds_as_one_that_calls_every_rule(op):
    for node in [node for node in _nodes(op) if why_malformed(node) is None]:
        called, each = Builder(), RuleBuilder(_EVERYTHING)
        built = called.build(op, node.dtype, node.src, node.attr)
        assert built is each.build(op, node.dtype, node.src, node.attr)
        assert called.rewrites == each.rewrites
