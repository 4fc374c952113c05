"""Convolutions over one, two or three axes: as many as the kernel has sizes."""

from collections.abc import Sequence

from compiler.errors import ShapeError
from compiler.frontend.given import require_tensors
from compiler.frontend.nn.initial import Initial, require_initial
from compiler.frontend.shapes import as_int, as_shape
from compiler.frontend.tensor import Tensor


class Conv:
    """The cross-correlation of (n, inputs, *spatial) with `outputs` kernels, plus bias."""

    def __init__(
        self,
        make: Initial,
        inputs: int,
        outputs: int,
        kernel: Sequence[int],
        *,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        require_initial("conv", make)
        inputs, outputs = as_int(inputs, "inputs"), as_int(outputs, "outputs")
        if as_int(groups, "groups") < 1 or inputs % groups or outputs % groups:
            raise ShapeError(f"conv of {inputs} to {outputs} channels: have no {groups} groups")
        self.weight, bound = make.weights((outputs, inputs // groups, *as_shape(kernel, "kernel")))
        self.bias = make.uniform((outputs,), bound) if bias else None
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def __call__(self, x: Tensor) -> Tensor:
        require_tensors("conv", x)
        return x.conv(
            self.weight.value,
            None if self.bias is None else self.bias.value,
            stride=self.stride,
            padding=self.padding,
            dilation=self.dilation,
            groups=self.groups,
        )
