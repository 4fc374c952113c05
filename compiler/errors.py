"""Deliberate failures. Each message is one line: subject, fact with values, what would do."""


class CompilerError(Exception):
    """Base of every error the compiler raises on purpose."""


class IRError(CompilerError):
    """A node or a graph that breaks the rules of the IR."""


class ParseError(IRError):
    """Text that is not in the grammar of docs/ir.md."""


class VerifyError(IRError):
    """A stage that is not what its pass promised; names the pass."""


class DTypeError(CompilerError, TypeError):
    """A dtype that an operation does not accept."""


class ShapeError(CompilerError, ValueError):
    """Shapes that do not fit together."""


class NumberError(CompilerError, OverflowError):
    """A Python integer that a dtype does not hold."""


class AxisError(ShapeError, IndexError):
    """An axis that an array does not have."""


class IndexingError(CompilerError, IndexError):
    """An index that does not fit the array."""


class IllegalOptError(CompilerError):
    """An opt that may not be applied to this kernel on this target."""


class OptionError(CompilerError, ValueError):
    """An option or target that does not exist or has no such value."""


class RewriteError(CompilerError):
    """A rule that does not come to an end, or a graph above the node limit."""


class NodeLimitError(RewriteError):
    """A graph above the node limit; `by_lanes` says whether it has as many because of lanes."""

    def __init__(self, message: str, *, by_lanes: bool) -> None:
        super().__init__(message)
        self.by_lanes = by_lanes


class BuildError(CompilerError):
    """A backend refused a source; carries the kernel's name, its source and the build log."""

    def __init__(self, message: str, *, kernel: str = "", source: str = "", log: str = "") -> None:
        super().__init__(message)
        self.kernel = kernel
        self.source = source
        self.log = log


class JitError(CompilerError):
    """A program that cannot be recorded, or that is run with other things than it was."""


class ModelError(CompilerError):
    """A model file that cannot be read, is not supported, or is fed wrongly."""


class DeviceError(CompilerError):
    """A device that is missing, or that failed while running a kernel."""


class DeviceMemoryError(DeviceError, MemoryError):
    """A device or a host that has no memory left: nothing that a kernel has done."""
