"""The kernels of a graph in words: what each makes and of what, and why that goes to memory."""

from collections import Counter
from collections.abc import Sequence

from compiler.frontend.graph import Value
from compiler.frontend.schedule.build import Built, MemoryOf
from compiler.frontend.schedule.lifetimes import lifetimes
from compiler.frontend.schedule.split import Reason, split_with_reasons
from compiler.ir import ELEMENTWISE, Node, Op, Size, attr_nodes, sym, toposort


def explain(roots: Sequence[Value], memory_of: MemoryOf, *, keeps_rows: bool = True) -> str:
    """A paragraph for each kernel that computes `roots`, in the order in which they run.

    Memory is counted as if nobody but `roots` were wanted afterwards.
    """
    missing = [root for root in roots if root.size and memory_of(root) is None]
    kernels = split_with_reasons(missing, memory_of, keeps_rows=keeps_rows)
    if not kernels:
        return "no kernel: all of it is in memory"
    plan = [built for built, _ in kernels]
    scratch = [value for built in plan for value in built.made if value not in missing]
    found = lifetimes(plan, scratch)
    numbers = {value: n for n, built in enumerate(plan, 1) for value in built.made}
    count = f"{len(plan)} kernel{'s' if len(plan) > 1 else ''}"
    memory = f"{found.total_bytes} bytes of results, at most {found.peak_bytes} of them at once"
    lines = [f"{count}: {memory}"]
    for number, (built, reasons) in enumerate(kernels, 1):
        lines.extend(_paragraph(number, built, reasons, numbers))
    return "\n".join(lines)


def _paragraph(
    number: int, built: Built, reasons: Sequence[Reason], numbers: dict[Value, int]
) -> list[str]:
    lines = [f"{number}. {_work(built.ast)}", *_rows(built.ast)]
    for value, reason in zip(built.made, reasons, strict=True):
        lines.append(f"   makes {_name(value)}: {reason.value}")
    for value in built.read:
        origin = f"kernel {numbers[value]}" if value in numbers else "memory"
        lines.append(f"   reads {_name(value)} from {origin}")
    return lines


def _rows(ast: Node) -> list[str]:
    """That reductions follow one another along one row, where they do."""
    sizes: dict[str, Size] = dict(ast.attr[0])
    levels: dict[Node, int] = {}
    longest: tuple[int, tuple[str, ...]] = (0, ())
    for node in toposort(ast):
        levels[node] = max([levels[child] for child in node.src], default=0)
        if node.op is Op.REDUCE:
            levels[node] += 1
            longest = max(longest, (levels[node], node.attr[1]))
    count, axes = longest
    if count < 2:
        return []
    row = " ".join([sym.text(sizes[axis]) for axis in axes])
    return [f"   keeps each row of {row}: {count} reductions, one after the other"]


def _name(value: Value) -> str:
    return f"{value.dtype}{list(value.shape)}"


def _work(ast: Node) -> str:
    """Its loops and its operations, each with how often it stands in the program."""
    sizes = toposort(*[size for node in toposort(ast) for size in attr_nodes(node)])
    order = [node for node in toposort(ast) if node not in sizes]
    loops = " ".join([f"{name}:{sym.text(size)}" for name, size in ast.attr[0]])
    counts = Counter([_operation(node) for node in order if node.op in _NAMED])
    named = [name if count == 1 else f"{count} {name}" for name, count in counts.items()]
    return f"over {loops or 'one element'}: {', '.join(named) or 'copies'}"


_NAMED = ELEMENTWISE | {Op.REDUCE, Op.GATHER}


def _operation(node: Node) -> str:
    return (
        f"{node.attr[0].name} over {' '.join(node.attr[1])}"
        if node.op is Op.REDUCE
        else node.op.name
    )
