"""The backends that a command may run kernels on here."""

from collections.abc import Mapping

import click

from replay.errors import ReplayError
from replay.probe import findings

BACKENDS = ("llvm", "opencl")  # that make code of kernels


def working_backends(
    command: str, environ: Mapping[str, str], names: tuple[str, ...]
) -> tuple[str, ...]:
    """Those of `names`, which may be targets, that work on this machine; says which do not."""
    backends = tuple(dict.fromkeys(name.partition("/")[0] for name in names))
    found = {finding.name: finding for finding in findings(environ, backends)}
    working = []
    for name in names:
        finding = found[f"backend {name.partition('/')[0]}"]
        if finding.works:
            working.append(name)
        else:
            click.echo(f"{command}: without {name}: {finding.detail}", err=True)
    if not working:
        raise ReplayError(f"{command}: no backend works here; `replay doctor` says what to install")
    return tuple(working)
