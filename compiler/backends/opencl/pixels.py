"""Images in OpenCL C: pixels are read through a sampler for which all outside of one is 0."""

from compiler.backends.c_like import Function, Text, parameter, say_write
from compiler.ir import FLOAT16, PLACE, Node

SAMPLER = "sampler"
_FLAGS = "CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST"


def image(function: Function, node: Node) -> None:
    """A parameter, and the one sampler of the function."""
    parameter(function, node)
    declared = f"  const sampler_t {SAMPLER} = {_FLAGS};"
    if declared not in function.top:
        function.top.insert(0, declared)


def read_pixel(function: Function, node: Node) -> None:
    """The four channels at a place."""
    source, place = _at(function, node)
    text = f"read_image{_suffix(node)}({source}, {SAMPLER}, {place})"
    function.define(node, Text(text, is_atom=True))


def write_pixel(function: Function, node: Node) -> None:
    """A store of four channels, under its gate if it has one."""
    (target, place), value = _at(function, node), node.src[2]
    text = f"write_image{_suffix(value)}({target}, {place}, {function.operand(value).text});"
    say_write(function, node, text)


def _at(function: Function, node: Node) -> tuple[Text, Text]:
    if node.src[1].dtype is not PLACE:
        raise function.refuse(node, "an image is accessed by pixel")
    return function.operand(node.src[0]), Text(function.operand(node.src[1]).text, is_atom=True)


def _suffix(value: Node) -> str:
    return "h" if value.dtype.scalar is FLOAT16 else "f"
