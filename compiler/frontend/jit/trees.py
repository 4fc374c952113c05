"""Arguments and results taken apart into tensors, and what stands around them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.errors import JitError
from compiler.frontend.tensor import Tensor

_FIXED = (bool, int, float, str, type(None))


@dataclass(frozen=True, slots=True)
class Leaf:
    """The place of a tensor."""

    def __str__(self) -> str:
        return "a tensor"


@dataclass(frozen=True, slots=True)
class Fixed:
    """Something that is no tensor; True is not 1 here."""

    kind: type
    value: object

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, slots=True)
class Branch:
    """A tuple, a list, or a dict with its keys."""

    kind: type
    keys: tuple[object, ...]
    items: "tuple[Tree, ...]"

    def is_like(self, other: "Branch") -> bool:
        """Whether only the items may differ."""
        same = (self.kind, self.keys) == (other.kind, other.keys)
        return same and len(self.items) == len(other.items)

    def __str__(self) -> str:
        return f"a {self.kind.__name__} of {len(self.items)}"


Tree = Leaf | Fixed | Branch
_LEAF = Leaf()


def take_apart(given: object, what: str) -> tuple[Tree, list[Tensor]]:
    """The tensors of `given` in order. JitError for anything but them, numbers, texts and None."""
    tensors: list[Tensor] = []
    return _tree(given, what, tensors), tensors


def _tree(given: object, what: str, tensors: list[Tensor]) -> Tree:
    if isinstance(given, Tensor):
        tensors.append(given)
        return _LEAF
    if isinstance(given, _FIXED):
        return Fixed(type(given), given)
    kind = type(given)
    if isinstance(given, Sequence) and kind in (tuple, list):
        items = [_tree(item, f"{what}[{i}]", tensors) for i, item in enumerate(given)]
        return Branch(kind, (), tuple(items))
    if isinstance(given, Mapping) and kind is dict:
        items = [_tree(item, f"{what}[{key!r}]", tensors) for key, item in given.items()]
        return Branch(kind, tuple(given), tuple(items))
    raise JitError(
        f"{what} is {kind.__name__}: use tensors, numbers, texts, None, and tuples, lists and dicts"
    )


def put_together(tree: Tree, tensors: Iterator[Tensor]) -> Any:  # noqa: ANN401  # as it was taken apart
    """The inverse of `take_apart`."""
    if isinstance(tree, Leaf):
        return next(tensors)
    if isinstance(tree, Fixed):
        return tree.value
    items = [put_together(item, tensors) for item in tree.items]
    return dict(zip(tree.keys, items, strict=True)) if tree.kind is dict else tree.kind(items)


def difference(wanted: Tree, found: Tree, what: str) -> str | None:
    """Where two trees first differ."""
    if wanted == found:
        return None
    if isinstance(wanted, Branch) and isinstance(found, Branch) and wanted.is_like(found):
        names = wanted.keys or range(len(wanted.items))
        parts = zip(names, wanted.items, found.items, strict=True)
        inner = [difference(old, new, f"{what}[{name!r}]") for name, old, new in parts]
        return next(filter(None, inner))
    return f"{what} is {found}, it was recorded with {wanted}"
