"""From a result down to what its gradient is asked for, each value once, without recursion."""

from compiler.errors import DTypeError, ShapeError
from compiler.frontend import graph
from compiler.frontend.formulas import Rule, formula_of
from compiler.frontend.functions.scatter import elements_added
from compiler.frontend.gradient import elementwise, movement, reduce
from compiler.frontend.graph import Kind, Value, in_order
from compiler.frontend.operands import require_values
from compiler.ir import Op

Edge = tuple[Value, Rule]  # what a value depends on, and how


def gradient(result: Value, *inputs: Value, cotangent: Value | None = None) -> tuple[Value, ...]:
    """How `result` changes with each element of the inputs, as lazy as the result.

    A result of more than one element needs a `cotangent` of its shape: what each element counts.
    Raises ShapeError for an input that the result does not depend on.
    """
    require_values("gradient", *inputs, *([] if cotangent is None else [cotangent]))
    seed = _seed(result, cotangent)
    order = _order(result)
    carriers = _carriers(order, inputs)
    reached = frozenset(order)
    for place, value in enumerate(inputs):
        _check_input(value, place, is_reached=value in reached)
    found: dict[Value, Value] = {result: seed}
    for value in reversed(order):
        if value not in carriers:
            continue
        for source, rule in edges(value):
            if source in carriers:
                part = rule(found[value], value)
                assert (part.shape, part.dtype) == (source.shape, source.dtype), value
                old = found.get(source)
                found[source] = part if old is None else graph.elementwise(Op.ADD, old, part)
    return tuple([found[value] for value in inputs])


def edges(value: Value) -> tuple[Edge, ...]:
    """The floats that `value` depends on, each with the rule that takes a gradient there."""
    if not value.dtype.is_float:
        return ()
    formula = formula_of(value)
    if formula is not None:
        return tuple(zip(formula.inputs, formula.rules, strict=True))
    found = zip(value.src, _rules(value), strict=True)
    return tuple([(s, rule) for s, rule in found if rule is not None and s.dtype.is_float])


def _rules(value: Value) -> tuple[Rule | None, ...]:
    match value.kind:
        case Kind.SOURCE | Kind.CONST:
            return ()
        case Kind.ELEMENTWISE:
            return elementwise.RULES[value.arg]
        case Kind.REDUCE:
            return (reduce.RULES[value.arg[0]],)
        case Kind.GATHER:
            return (lambda g, y: elements_added(g, y.src[1], y.src[0].shape), None)
        case _:
            return (movement.RULES[value.kind],)


def _seed(result: Value, cotangent: Value | None) -> Value:
    if not result.dtype.is_float:
        raise DTypeError(f"gradient of {result.dtype}: only floats have one")
    if cotangent is None:
        if result.size != 1:
            raise ShapeError(
                f"gradient of shape {result.shape}: give a cotangent of that shape, or one number"
            )
        return graph.full(1, result.dtype, result.shape, result.device)
    if cotangent.shape != result.shape:
        raise ShapeError(
            f"cotangent of shape {cotangent.shape}: the result's shape is {result.shape}"
        )
    return graph.cast(cotangent, result.dtype)


def _check_input(value: Value, place: int, *, is_reached: bool) -> None:
    if not value.dtype.is_float:
        raise DTypeError(f"gradient by input {place} of {value.dtype}: only floats have one")
    if value.kind is Kind.CONST:
        raise ShapeError(
            f"gradient by input {place} of shape {value.shape}: is a constant, which all equal "
            "constants share, give it memory of its own with Tensor(array)"
        )
    if not is_reached:
        raise ShapeError(
            f"gradient by input {place} of shape {value.shape}: the result does not depend on it "
            "(but by steps, perhaps), or was realized before, which forgets what it was made of"
        )


def _order(result: Value) -> list[Value]:
    """All that `result` depends on, sources before users."""
    return in_order((result,), lambda value: [source for source, _ in edges(value)])


def _carriers(order: list[Value], inputs: tuple[Value, ...]) -> set[Value]:
    """The values through which the result depends on an input."""
    carriers = set(inputs)
    for value in order:
        if any(source in carriers for source, _ in edges(value)):
            carriers.add(value)
    return carriers
