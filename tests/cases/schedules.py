"""Opts for whatever kernel comes: each candidate is taken where it is legal."""

from compiler.kernel import (
    Group,
    GroupTop,
    PadTo,
    Unroll,
    Upcast,
    from_ast,
)


def _take(kernel, target, candidates):
    """The candidates, each a function of an axis, that are legal one after the other."""
    for axis in kernel.axes:
        for candidate in candidates:
            current = kernel.find(axis.name)
            opt = candidate(axis) if current is not None else None
            if opt is not None and opt.why_illegal(kernel, target) is None:
                kernel = opt.apply(kernel)
    return kernel.applied


def _pad(axis):
    return PadTo(axis.name, 32)


def _upcast(axis):
    return None if axis.is_reduce else Upcast(axis.name, 4)


def _unroll(axis):
    return Unroll(axis.name, 4) if axis.is_reduce else None


def _group(axis):
    return Group(axis.name, 4) if axis.is_reduce else None


def _group_top(axis):
    return GroupTop(axis.name, 4) if axis.is_reduce else None


SCHEDULES = {
    "pad": (_pad,),
    "pad upcast": (_pad, _upcast),
    "pad unroll": (_pad, _unroll),
    "pad group": (_pad, _group),
    "pad grouptop": (_pad, _group_top),
    "upcast": (_upcast,),
    "unroll": (_unroll,),
    "group": (_group, _unroll),
}


def chooser(name):
    """The requested opts of every kernel under a schedule: none, the default ones, or named."""
    if name == "default":
        return None
    candidates = SCHEDULES.get(name, ())
    return lambda ast, target: _take(from_ast(ast), target, candidates)
