"""How much a kernel does in one launch, read off its source: loops, and elements moved.

Two languages are understood, LLVM IR and OpenCL C, in the form in which renderers write them: loops
that count from a known start to a known limit, sizes that follow from the launch and the variables
at their largest. A kernel with any other loop has no `Work`: nothing is guessed. An axis that
is padded may count with its padding.
"""

from collections.abc import Callable

from replay.artefact import Artefact
from replay.metrics.llvm_source import llvm_work
from replay.metrics.nest import Sizes, Work
from replay.metrics.opencl_source import opencl_work
from replay.metrics.sizes import sizes_of

LANGUAGES: tuple[tuple[str, Callable[[str, Sizes], Work | None]], ...] = (
    # to add one: what its sources contain and no others do, and what reads them
    ("define ", llvm_work),
    ("__kernel ", opencl_work),
)


def work_of(artefact: Artefact) -> Work | None:
    """The work of one launch at the largest sizes; None where the source is not understood."""
    sizes = sizes_of(artefact)
    if sizes is None:
        return None
    for mark, read in LANGUAGES:
        if mark in artefact.source:
            return read(artefact.source, sizes)
    return None
