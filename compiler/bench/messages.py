"""What a search and its child say to each other: a JSON object a line, plain values alone."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from compiler.backends import Launch, Program
from compiler.errors import ParseError
from compiler.ir import Node, Size, parse_node, print_node

Message = dict[str, object]


def encode(message: Mapping[str, object]) -> bytes:
    """One line."""
    return json.dumps(message).encode() + b"\n"


def decode(line: bytes) -> Message:
    """The object of a line. ParseError for anything else."""
    try:
        found = json.loads(line)
    except ValueError:
        raise ParseError(f"message {line[:40]!r}: is no JSON") from None
    if not isinstance(found, dict):
        raise ParseError(f"message {line[:40]!r}: is no object")
    return found


def program_message(program: Program) -> Message:
    """What a child needs to build a program whose AST it has."""
    return {
        "name": program.name,
        "source": program.source,
        "global": [_size(size) for size in program.launch.global_size],
        "local": list(program.launch.local_size),
    }


@dataclass(frozen=True, slots=True)
class Source:
    """The parts of a Program that differ between the schedules of a kernel."""

    name: str
    text: str
    launch: Launch


def source_of(message: Message) -> Source:
    """The program that `program_message` describes."""
    sizes, local = message["global"], message["local"]
    assert isinstance(sizes, list), "written by program_message"
    assert isinstance(local, list), "written by program_message"
    launch = Launch(tuple([_parsed(size) for size in sizes]), tuple(local))
    return Source(str(message["name"]), str(message["source"]), launch)


def _size(size: Size) -> int | str:
    return print_node(size) if isinstance(size, Node) else size


def _parsed(size: object) -> Size:
    return parse_node(size) if isinstance(size, str) else int(str(size))
