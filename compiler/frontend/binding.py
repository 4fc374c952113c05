"""Makes sizes of tensors in memory symbolic."""

from compiler.errors import DTypeError, ShapeError
from compiler.frontend.graph import Value
from compiler.frontend.realize import realize
from compiler.frontend.shapes import as_axis
from compiler.frontend.storage import as_source, storage_of
from compiler.frontend.symbolic import Variable, is_symbolic


def bind(x: Value, variable: Variable, axis: int = 0) -> Value:
    """The same elements, computed now; kernels that use them run for every size of `axis`.

    Raises ShapeError if the size is not in the variable's range, DTypeError if it is no Variable.
    """
    if not isinstance(variable, Variable):
        raise DTypeError(f"a size is bound to {variable!r}: use a Variable")
    place = as_axis(axis, x.ndim)
    if is_symbolic(x.shape[place]):
        raise ShapeError(f"axis {axis} of {x.shape}: is symbolic already")
    size = variable.bind(x.shape[place])
    (known,) = realize([x])
    storage = storage_of(known)
    assert storage is not None, "it was realized"
    return as_source(known, storage, (*x.shape[:place], size, *x.shape[place + 1 :]))
