"""Programs over an array (n, 60) whose first size may be symbolic."""

import numpy as np

from compiler import CompileStarted, Tensor, observing


def constant(*shape, seed=5):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def rows(n):
    return constant(n, 60, seed=n)


def on(x, array):
    return Tensor(array, device=x.device)


def images(x):
    return x.reshape(x.shape[0], 3, 4, 5)


ELEMENTWISE = {
    "exp": lambda x: (x * 2 + 1).exp(),
    "bias": lambda x: x.reshape(-1, 5, 12) + on(x, constant(12)),
    "where": lambda x: Tensor.where(x > 0, x, 0.0),
    "by its size": lambda x: x / x.shape[0],
    "less its size": lambda x: x + (1 - x.shape[0]),
    "counted": lambda x: x + Tensor.arange(x.shape[0], device=x.device)[:, None],
    "counted down": lambda x: x + Tensor.arange(x.shape[0], -2, -2, device=x.device).sum(),
}
REDUCTIONS = {
    "sum beside": lambda x: x.sum(axis=1),
    "sum over": lambda x: x.sum(axis=0),
    "sum of all": lambda x: x.sum(),
    "sum of none": lambda x: x[1:].sum(axis=0),
    "mean of none": lambda x: x[1:].mean(axis=0) > 0,
    "sum and rows": lambda x: x + x.sum(axis=0),
    "max": lambda x: x.max(axis=0),
    "prod": lambda x: (x * 0.1 + 1).prod(axis=0),
    "mean": lambda x: x.mean(axis=0),
    "var": lambda x: x.var(axis=0),
    "sample std": lambda x: (x[:, :1] * 0 + x).std(axis=1, correction=1),
    "argmax over": lambda x: x.argmax(axis=0),
    "argmin beside": lambda x: x.argmin(axis=1),
    "softmax beside": lambda x: x.softmax(axis=1),
    "softmax over": lambda x: x.softmax(axis=0),
    "layer norm": lambda x: x.layer_norm(),
    "any": lambda x: (x > 2).any(axis=0),
}
PRODUCTS = {
    "matmul": lambda x: x @ on(x, constant(60, 8)),
    "matmul of stacks": lambda x: x.reshape(x.shape[0], 12, 5) @ on(x, constant(5, 12)),
    "gram": lambda x: x.T @ x,
    "outer": lambda x: x @ x.T,
    "conv": lambda x: images(x).conv(on(x, constant(4, 3, 3, 3)), padding=1).relu(),
    "conv over it": lambda x: x.T[None].conv(on(x, constant(4, 60, 3)), padding=1, stride=2),
    "max pool": lambda x: images(x).max_pool(2),
    "avg pool": lambda x: images(x).avg_pool(3, padding=1, stride=1, count_include_pad=False),
    "einsum": lambda x: Tensor.einsum("ni,mi->nm", x, x),
    "attention": lambda x: (y := x.reshape(-1, 5, 12)).scaled_dot_product_attention(y, y),
}
MOVEMENTS = {
    "transpose": lambda x: x.reshape(x.shape[0], 3, 20).transpose((1, 0, 2)) * 2,
    "flat and back": lambda x: (x.flatten() * 2).reshape(x.shape) + 1,
    "slice beside": lambda x: x[:, 2:30:3] * 2,
    "slice over": lambda x: x[1:] * 2,
    "without the last": lambda x: x[:-1] * 2,
    "some rows": lambda x: x[2:30:3] * 2,
    "backwards": lambda x: x[::-1] * 2,
    "backwards by three": lambda x: x[-2:1:-3] * 2,
    "first row": lambda x: x[0] * 2,
    "last row": lambda x: x[-1] * 2,
    "concat beside": lambda x: Tensor.concat([x, x * 2], 1),
    "concat along": lambda x: Tensor.concat([x, x * 2, on(x, constant(3, 60))], 0),
    "stack": lambda x: Tensor.stack([x, x + 1], 1),
    "pad": lambda x: x.pad(((1, 2), (0, 3)), constant_values=7),
    "roll": lambda x: x.roll(1, 0),
    "roll round and round": lambda x: x.roll((-100, 3), (0, 1)),
    "roll very far": lambda x: x.roll((2**31, -(2**40) - 1), (0, 0)),
    "repeat": lambda x: x.repeat(2, 0),
    "tile": lambda x: x.tile((2, 2)),
    "triangle": lambda x: (x @ x.T).tril(),
}
PLACES = {
    "take beside": lambda x: x.take(on(x, np.array([3, 1, 50])), 1),
    "take rows": lambda x: x.take(on(x, np.array([0, -1, 0])), 0),
    "take what is symbolic": lambda x: on(x, constant(9)).take((x[:, 0] > 0).astype("int64"), 0),
    "along": lambda x: x.take_along_axis(x.argmax(axis=1, keepdims=True), 1),
    "cumsum beside": lambda x: x.cumsum(1),
    "cumsum over": lambda x: x.cumsum(0),
    "cumprod over": lambda x: (x * 0.1 + 1).cumprod(0),
    "search": lambda x: on(x, np.sort(constant(33))).searchsorted(x),
    "greatest": lambda x: x.topk(3)[0],
    "argsort over": lambda x: x.argsort(axis=0),
    "sort beside": lambda x: x.sort(axis=1),
    "sort over": lambda x: x.sort(axis=0),
}
GRADIENTS = {
    "of a reduction": lambda x: (x * x.mean(0)).tanh().sum().gradient(x)[0],
    "of a maximum": lambda x: x.max(0).sum().gradient(x)[0],
    "of a product": lambda x: (x @ x.T * 0.125).exp().mean().gradient(x)[0],  # exp adds up errors
    "of weights": lambda x: ((x @ (w := on(x, constant(60, 4)))) ** 2).mean().gradient(w)[0],
    "of a slice": lambda x: (x[2:30:3].sum() + x.sum()).gradient(x)[0],
    "of a pool": lambda x: (images(x).max_pool(2) ** 2).sum().gradient(x)[0],
    "of a gather": lambda x: x.take(on(x, np.array([0, -1, 0])), 0).sum().gradient(x)[0],
}
FIXED = {
    "unstack": lambda x: sum(x.unstack(0)),
    "rows": lambda x: sum(row.max() for row in x),
    "squeezed where it is 1": lambda x: x[:, :1].squeeze() * 2,
    "diagonal": lambda x: (x @ x.T).diagonal(),
}
ALL = {**ELEMENTWISE, **REDUCTIONS, **PRODUCTS, **MOVEMENTS, **PLACES, **GRADIENTS}


def compiles(action):
    """How many kernels are compiled meanwhile."""
    found = []
    with observing(lambda event: isinstance(event, CompileStarted) and found.append(event)):
        action()
    return len(found)
