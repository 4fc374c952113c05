"""What a compile asked and answered, as plain values that any process can be told.

This is the half of the codec that runs inside captured programs: it imports the compiler, which is
there already, and nothing else of weight. The names are the fields of `corpus.KernelRecord`; the
options are all there are, for `codec` leaves out those that are as they first were.
"""

from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from importlib import import_module

from compiler import Compiled, CompileOptions, Target, flatten
from compiler.backends import Argument, Role
from compiler.ir import Node, Size, print_node
from compiler.kernel import Opt, Positional
from replay.structure import stage_digests

# Compilers of before it was there have no such function; what they run with is not known then.
_opened_device = getattr(import_module("compiler.backends"), "opened_device", lambda name: None)
_VERSIONS = ("llvm", "cpu", "platform", "device", "driver")
_devices: dict[str, dict[str, str]] = {}  # a device is opened once per process and stays the same

Plain = dict[str, object]

_KINDS = {Role.OUTPUT: "out", Role.INPUT: "in", Role.INOUT: "inout", Role.VARIABLE: "var"}


def plain_question(
    ast: Node, target: Target, options: CompileOptions, opts: tuple[Opt, ...] | None
) -> Plain:
    """The fields of a record that are known when a compile begins."""
    return {
        "ast": print_node(ast),
        "target": _plain_target(target),
        "options": _plain_options(options),
        "requested": None if opts is None else plain_opts(opts),
    }


# A program compiles for a target or two, under few options. What these return is not to be changed.


@lru_cache(maxsize=64)
def _plain_target(target: Target) -> Plain:
    """A target with all that is known of what it can do."""
    capabilities = target.capabilities
    return {
        "backend": target.backend,
        "profile": target.profile,
        "capabilities": {
            field.name: _scalar(getattr(capabilities, field.name)) for field in fields(capabilities)
        },
    }


@lru_cache(maxsize=64)
def _plain_options(options: CompileOptions) -> Mapping[str, object]:
    return flatten(options)


def plain_device(target: Target) -> dict[str, str]:
    """Versions that an open device tells of itself; nothing where none is open."""
    known = _devices.get(target.backend)
    if known is None:
        device = _opened_device(target.backend)
        if device is None:
            return {}
        said = device.toolchain()
        known = {name: said[name] for name in _VERSIONS if name in said}
        _devices[target.backend] = known
    return known


def plain_answer(compiled: Compiled) -> Plain:
    """The fields of a record that a compile's end adds to those of its beginning."""
    program = compiled.program
    launch = program.launch
    return {
        "applied": plain_opts(compiled.applied),
        "name": program.name,
        "source": program.source,
        "launch": {
            "global_size": [_size(size) for size in launch.global_size],
            "local_size": [_size(size) for size in launch.local_size],
        },
        "arguments": [_argument(argument) for argument in program.arguments],
        "estimates": {
            "flops": _size(program.estimates.flops),
            "bytes": _size(program.estimates.bytes),
        },
        "rewrites": compiled.rewrites,
    }


def plain_stages(compiled: Compiled) -> tuple[tuple[str, str], ...]:
    """The digest of every stage of a compile, which is most of the work of telling of it."""
    return stage_digests((stage.name, stage.node) for stage in compiled.stages)


def plain_opts(opts: tuple[Opt, ...]) -> list[Plain]:
    """Opts by name and named fields."""
    return [_opt(opt) for opt in opts]


def _opt(opt: Opt) -> Plain:
    values = {field.name: getattr(opt, field.name) for field in fields(opt)}  # type: ignore[arg-type]  # every opt is a dataclass
    name = values.pop("op") if isinstance(opt, Positional) else opt.op  # type: ignore[attr-defined]  # class attribute
    return {"name": name, "fields": {key: v for key, v in values.items() if v is not None}}


def _argument(argument: Argument) -> Plain:
    return {
        "name": argument.name,
        "dtype": argument.dtype.name,
        "size": _size(argument.size),
        "kind": _KINDS[argument.role],
    }


def _size(size: Size) -> int | str:
    return print_node(size) if isinstance(size, Node) else size


def _scalar(value: object) -> bool | int | float | str | None:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return ",".join(str(item) for item in value) if isinstance(value, tuple) else str(value)
