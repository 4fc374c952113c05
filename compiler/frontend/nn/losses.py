"""How wrong a prediction is: one number, to be made small."""

from compiler.errors import DTypeError, ShapeError
from compiler.frontend.given import require_tensors
from compiler.frontend.tensor import Tensor


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean of -log softmax of each row's label; labels are integers."""
    require_tensors("cross entropy", logits, labels)
    if labels.dtype.kind not in "iu":
        raise DTypeError(f"labels of {labels.dtype}: use integers")
    if labels.shape != logits.shape[:-1]:
        raise ShapeError(f"labels of {labels.shape}: logits of {logits.shape} need one a row")
    classes = Tensor.arange(logits.shape[-1], device=logits.device)
    is_label = labels.reshape(*labels.shape, 1) == classes
    of_labels = Tensor.where(is_label, logits.log_softmax(-1), 0.0).sum(-1)
    return -of_labels.mean()


def mean_squared_error(found: Tensor, wanted: Tensor) -> Tensor:
    """The mean of the squared differences."""
    require_tensors("mean squared error", found, wanted)
    return (found - wanted).square().mean()


def accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    """The share of rows whose greatest element is at the label."""
    require_tensors("accuracy", logits, labels)
    return (logits.argmax(-1) == labels).mean()
