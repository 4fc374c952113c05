"""Names that users gave, replaced by what they name and a number: of tests, kernels, variables.

A number is the place of a name among the sorted ones of the whole corpus. So the same name is
replaced by the same one everywhere, two names never by one, and variables keep their order, which
is that of a kernel's arguments.
"""

import re
from collections.abc import Iterable

import msgspec

from corpus import KernelRecord

NAME = "name"  # the option that is the user's name for a kernel
_VARIABLE = re.compile(r"^%\d+ = VAR \S+ name=(\S+) ", re.MULTILINE)


class Names(msgspec.Struct, frozen=True):
    """What each name of a corpus becomes."""

    tests: dict[str, str]
    kernels: dict[str, str]
    variables: dict[str, str]


def names_in(records: Iterable[KernelRecord]) -> Names:
    """The names that the records of a corpus hold, each with its replacement."""
    tests: set[str] = set()
    kernels: set[str] = set()
    variables: set[str] = set()
    for record in records:
        if record.provenance.test_id is not None:
            tests.add(record.provenance.test_id)
        if isinstance(name := record.options.get(NAME), str):
            kernels.add(name)
        variables.update(_VARIABLE.findall(record.ast))
    return Names(_numbered("test", tests), _numbered("kernel", kernels), _numbered("v", variables))


def _numbered(kind: str, names: Iterable[str]) -> dict[str, str]:
    """As many digits for each as the last one needs: then letters sort as numbers do."""
    ordered = sorted(names)
    digits = len(str(len(ordered) - 1))
    return {name: f"{kind}{number:0{digits}}" for number, name in enumerate(ordered)}
