"""Which kernels may stand in one OpenCL program and still be what each is alone."""

from collections.abc import Sequence

from compiler.backends.base import Program

_PRAGMA = "#pragma OPENCL "


def groups_of(programs: Sequence[Program]) -> tuple[tuple[Program, ...], ...]:
    """Programs that may be built together: two or more, of other names, under the same pragmas.

    A pragma holds for all that stands behind it, so one that a kernel lacks must not come from its
    neighbour; and a source with any other directive could change its neighbours.
    """
    groups: dict[tuple[str, ...], dict[str, Program]] = {}
    for program in programs:
        directives = tuple(
            [line for line in program.source.splitlines() if line.lstrip().startswith("#")]
        )
        if all(line.startswith(_PRAGMA) for line in directives):
            groups.setdefault(directives, {}).setdefault(program.name, program)
    return tuple([tuple(group.values()) for group in groups.values() if len(group) > 1])
