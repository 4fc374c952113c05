"""What users hand to layers, losses and optimizers, checked: an error names what it was."""

from compiler.errors import DTypeError, ShapeError
from compiler.frontend.tensor import Tensor


def require_tensors(what: str, *given: object) -> None:
    """Raise DTypeError, naming `what` they are handed to, unless all of them are tensors."""
    for one in given:
        if not isinstance(one, Tensor):
            raise DTypeError(f"{what} of {type(one).__name__}: use a tensor")


def require_axes(what: str, x: object, least: int) -> None:
    """Likewise, for a tensor of so many axes. Raises ShapeError."""
    require_tensors(what, x)
    if isinstance(x, Tensor) and x.ndim < least:
        raise ShapeError(f"{what} of shape {x.shape}: needs {least} axes or more")
