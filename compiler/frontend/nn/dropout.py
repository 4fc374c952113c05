"""Elements left out at random, while training."""

import numpy as np

from compiler.errors import OptionError
from compiler.frontend import graph
from compiler.frontend.functions.random import threefry
from compiler.frontend.given import require_tensors
from compiler.frontend.shapes import as_int, as_number
from compiler.frontend.tensor import Tensor, wrap
from compiler.ir import INT32, UINT32


class Dropout:
    """Each element is 0 with the probability `rate`; the others grow to make up for it.

    Which ones follows from the seed and the number of the call, on every device alike. Training
    changes `calls`: it has to be realized with what is trained.
    """

    def __init__(self, rate: float, seed: int, device: str = "llvm") -> None:
        if not 0 <= as_number(rate, "dropout rate") < 1:
            raise OptionError(f"dropout rate is {rate}: use one from 0 up to but not 1")
        self.rate, self.seed = rate, as_int(seed, "seed")
        self.calls = Tensor(np.zeros((), np.uint32), device=device)

    def __call__(self, x: Tensor, *, training: bool = False) -> Tensor:
        require_tensors("dropout", x)
        if not training or self.rate == 0:
            return x
        kept = self._draw(x) >= round(self.rate * 2**32)
        self.calls += 1
        return Tensor.where(kept, x * (1 / (1 - self.rate)), 0.0)

    def _draw(self, x: Tensor) -> Tensor:
        """32 random bits for each element."""
        places = graph.cast(graph.count(x.shape, INT32, x.device), UINT32)
        calls = (self.calls + wrap(graph.full(0, UINT32, x.shape, x.device))).value
        key = (self.seed & 0xFFFFFFFF, self.seed >> 32 & 0xFFFFFFFF)
        return wrap(threefry(key, calls, places)[0])
