"""The opts. To add one: a file with one frozen dataclass, and a line in OPTS."""

from compiler.kernel.opts.group import Group
from compiler.kernel.opts.group_top import GroupTop
from compiler.kernel.opts.keep import Keep
from compiler.kernel.opts.lds import Lds
from compiler.kernel.opts.local import Local
from compiler.kernel.opts.no_locals import NoLocals
from compiler.kernel.opts.pad_to import PadTo
from compiler.kernel.opts.swap import Swap
from compiler.kernel.opts.tc import Tc
from compiler.kernel.opts.unroll import MAX_UNROLL, Unroll
from compiler.kernel.opts.upcast import Upcast

OPTS = (Upcast, Unroll, Local, Group, GroupTop, PadTo, Swap, NoLocals, Lds, Keep, Tc)

__all__ = [
    "MAX_UNROLL", "OPTS", "Group", "GroupTop", "Keep", "Lds", "Local", "NoLocals", "PadTo", "Swap",
    "Tc", "Unroll", "Upcast",
]  # fmt: skip
