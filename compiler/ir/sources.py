"""What the checks of a node say about its sources."""

from compiler.ir.node import Node


def dtypes_of(node: Node) -> str:
    """The dtypes of the sources, for a message."""
    return ", ".join(child.dtype.name for child in node.src) or "none"


def why_not_arity(node: Node, *counts: int) -> str | None:
    """What is wrong with the number of sources, unless it is one of `counts`."""
    if len(node.src) in counts:
        return None
    return f"{len(node.src)} sources, expected {' or '.join(map(str, counts))}"
