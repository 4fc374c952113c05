"""Ways to make a question smaller. To add one: a function, a line in REDUCERS.

Each yields candidates, the boldest first; they need not be valid, nor smaller: both is checked.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from msgspec import structs

from compiler.ir import (
    ELEMENTWISE,
    FLOAT32,
    INT32,
    DType,
    Node,
    Op,
    View,
    ViewStack,
    const,
    intern,
    substitute,
    toposort,
)
from replay.reduce.example import Example
from replay.reduce.rebuild import rebuilt, view_of, with_domain, with_view

_VALUES = ELEMENTWISE | {Op.REDUCE, Op.LOAD, Op.GATHER, Op.INDEX}


def fewer_opts(example: Example) -> Iterator[Example]:
    """Without opts, without each, and with smaller amounts."""
    opts = example.opts or ()
    if opts:
        yield replace(example, opts=())
    for place, opt in enumerate(opts):
        yield replace(example, opts=(*opts[:place], *opts[place + 1 :]))
        amount = getattr(opt, "amount", None)
        if isinstance(amount, int) and amount > 2:
            less = replace(opt, amount=2)  # type: ignore[type-var]  # every opt is a dataclass
            yield replace(example, opts=(*opts[:place], less, *opts[place + 1 :]))


def fewer_options(example: Example) -> Iterator[Example]:
    """With the default of each option."""
    for name in example.options:
        others = {known: value for known, value in example.options.items() if known != name}
        yield replace(example, options=others)


def fewer_stores(example: Example) -> Iterator[Example]:
    """One output alone, then each left out."""
    stores = example.ast.src
    if len(stores) > 1:
        yield from [_with_stores(example, (store,)) for store in stores]
        for place in range(len(stores)):
            yield _with_stores(example, stores[:place] + stores[place + 1 :])


def _with_stores(example: Example, stores: tuple[Node, ...]) -> Example:
    return replace(example, ast=intern(Op.SINK, example.ast.dtype, stores, example.ast.attr))


def operands_alone(example: Example) -> Iterator[Example]:
    """One of the operands in place of each operation, those near the root first."""
    for node in reversed(toposort(example.ast)):
        if node.op in ELEMENTWISE or node.op is Op.REDUCE:
            for source in node.src:
                if source.dtype is node.dtype:
                    yield _with_ast(example, substitute(example.ast, {node: source}))


def constants(example: Example) -> Iterator[Example]:
    """The number 1 in place of each value."""
    for node in reversed(toposort(example.ast)):
        if node.op in _VALUES:
            one = const(node.dtype, True if node.dtype.name == "bool" else 1)
            yield _with_ast(example, substitute(example.ast, {node: one}))


def smaller_axes(example: Example) -> Iterator[Example]:
    """Each axis of 1, 2, 3 or 4, half as long, and shorter by one."""
    axes = example.ast.attr[0]
    for place, (name, size) in enumerate(axes):
        if isinstance(size, int):
            for less in sorted({1, 2, 3, 4, size // 2, size - 1}):
                if 0 < less < size:
                    shape = (*axes[:place], (name, less), *axes[place + 1 :])
                    pairs = tuple([(0, each) for _, each in shape])
                    cut = with_domain(example.ast, shape, lambda v, pairs=pairs: v.shrink(pairs))  # type: ignore[misc]  # the default binds the loop's value
                    yield _with_ast(example, cut)


def fewer_axes(example: Example) -> Iterator[Example]:
    """Without each axis of size 1."""
    axes = example.ast.attr[0]
    for place, (name, size) in enumerate(axes):
        if size == 1 and len(axes) > 1:
            rest = axes[:place] + axes[place + 1 :]
            shape = tuple([each for _, each in rest])
            yield _with_ast(example, _without(example.ast, name, rest, shape))


def _without(
    ast: Node, name: str, rest: tuple[tuple[str, int], ...], shape: tuple[int, ...]
) -> Node:
    return with_domain(
        ast,
        rest,
        lambda view: view.reshape(shape),
        lambda names: tuple([each for each in names if each != name]),
    )


def plain_views(example: Example) -> Iterator[Example]:
    """Each access in order of the domain, without mask; its buffer becomes as large as needed."""
    sizes = [size for _, size in example.ast.attr[0]]
    if not all(isinstance(size, int) for size in sizes):
        return
    plain = ViewStack((View.contiguous(tuple(sizes)),))
    for node in toposort(example.ast):
        view = view_of(node)
        if view is not None and node.op is Op.LOAD and view != plain:
            yield _with_ast(example, _reading(example.ast, node, plain))
            outer = structs.replace(view.views[-1], mask=None, offset=0)
            yield _with_ast(example, _reading(example.ast, node, ViewStack((outer,))))


def _reading(ast: Node, load: Node, view: ViewStack) -> Node:
    """A LOAD by another view, of a buffer that is large enough for it."""
    reach = _reach(view)
    slot = 1 + max([node.attr[0] for node in toposort(ast) if node.op is Op.BUFFER])
    buffer = intern(Op.BUFFER, load.dtype, (), (slot, max(1, reach)))
    return substitute(ast, {load: with_view(load, (buffer,), view)})


def tight_buffers(example: Example) -> Iterator[Example]:
    """Each buffer as large as what is read and written of it."""
    order = toposort(example.ast)
    for buffer in [node for node in order if node.op is Op.BUFFER]:
        users = [node for node in order if node.src and node.src[0] is buffer]
        views = [view for view in map(view_of, users) if view is not None]
        if len(views) == len(users) and isinstance(buffer.attr[1], int):
            size = max(map(_reach, views), default=1)
            tight = intern(Op.BUFFER, buffer.dtype, (), (buffer.attr[0], max(1, size)))
            yield _with_ast(example, substitute(example.ast, {buffer: tight}))


def _reach(stack: ViewStack) -> int:
    """One more than the last element that a view of numbers may touch."""
    view = stack.views[0]
    last = view.offset
    for step, (low, high) in zip(view.strides, view.bounds, strict=True):
        if not all(isinstance(each, int) for each in (last, step, low, high)):
            return 1 << 20  # symbolic: leave it as it is
        last += step * ((high - 1) if step > 0 else low)  # type: ignore[operator]  # they are numbers
    return int(last) + 1  # type: ignore[arg-type]  # likewise


def plain_dtypes(example: Example) -> Iterator[Example]:
    """float32 for other floats, int32 for other integers."""
    dtypes = dict.fromkeys([node.dtype for node in toposort(example.ast)])
    for dtype in dtypes:
        plain = FLOAT32 if dtype.is_float else INT32
        if dtype is not plain and dtype.name not in ("void", "bool"):
            yield _with_ast(example, _typed(example.ast, dtype, plain))


def _typed(ast: Node, dtype: DType, plain: DType) -> Node:
    def changed(node: Node, src: tuple[Node, ...]) -> Node:
        if node.op is Op.CAST and src[0].dtype is plain and node.dtype is dtype:
            return src[0]
        return intern(node.op, plain if node.dtype is dtype else node.dtype, src, node.attr)

    return rebuilt(ast, changed)


def _with_ast(example: Example, ast: Node) -> Example:
    return replace(example, ast=ast)


REDUCERS: tuple[Callable[[Example], Iterator[Example]], ...] = (
    fewer_opts,  # first: opts forbid most sizes
    fewer_stores,
    operands_alone,
    constants,
    smaller_axes,
    fewer_axes,
    plain_views,
    tight_buffers,
    plain_dtypes,
    fewer_options,
)
