"""The pipeline from a scheduled kernel to a PROGRAM. To add a pass: a file, a line in PIPELINE."""

from compiler.errors import IRError, NodeLimitError, RewriteError, VerifyError
from compiler.ir import Node, Spec, verify
from compiler.options import DEFAULT, CompileOptions
from compiler.passes.context import Context, Pass, Stage
from compiler.passes.decompose import decompose
from compiler.passes.devectorize import devectorize
from compiler.passes.expand import expand
from compiler.passes.gates import gates
from compiler.passes.group import group
from compiler.passes.halves import halves
from compiler.passes.images import images
from compiler.passes.linearize import linearize
from compiler.passes.reduce import reduce
from compiler.passes.threads import threads
from compiler.rules import Builder
from compiler.target import Target

PIPELINE: tuple[Pass, ...] = (
    Pass("decompose", decompose, Spec.INDEXED, Spec.INDEXED),  # first: a node is still one node
    Pass("group", group, Spec.INDEXED, Spec.INDEXED),  # makes FOLDs, which may have lanes
    Pass("expand", expand, Spec.INDEXED, Spec.EXPANDED),  # before loops: lanes need accumulators
    Pass("reduce", reduce, Spec.EXPANDED, Spec.LOOPS),
    Pass("images", images, Spec.LOOPS, Spec.LOOPS),  # before halves: what holds halves is known
    Pass("halves", halves, Spec.LOOPS, Spec.LOOPS),  # after reduce: accumulators are halves too
    Pass("threads", threads, Spec.LOOPS, Spec.LOOPS),  # before gates: bounds of the final indices
    Pass("gates", gates, Spec.LOOPS, Spec.LOOPS),  # makes selects of vectors for devectorize
    Pass("devectorize", devectorize, Spec.LOOPS, Spec.LOOPS),
    Pass("linearize", linearize, Spec.LOOPS, Spec.LINEAR),
)


def run_pipeline(
    root: Node, target: Target, options: CompileOptions = DEFAULT, builder: Builder | None = None
) -> tuple[Stage, ...]:
    """The graph of each stage, verified: `root` as "nodes", then one for each pass."""
    context = Context(target, options, Builder() if builder is None else builder)
    stages = [_checked("nodes", root, PIPELINE[0].accepts, context)]
    for step in PIPELINE:
        before = stages[-1].node
        try:
            after = step.run(before, context)
            if after is not before:
                _check_size(after, step, root, context)
        except NodeLimitError as error:
            told = f"pass {step.name}: {error}"
            raise NodeLimitError(told, by_lanes=error.by_lanes) from error
        except RewriteError as error:
            raise RewriteError(f"pass {step.name}: {error}") from error
        except IRError as error:
            raise VerifyError(f"pass {step.name}: {error}") from error
        if after is before and step.yields is step.accepts:
            stages.append(Stage(step.name, after))
        else:
            stages.append(_checked(step.name, after, step.yields, context))
    return tuple(stages)


def _check_size(node: Node, step: Pass, first: Node, context: Context) -> None:
    limit, count = context.options.schedule.max_nodes, len(context.order(node))
    if count > limit:
        before = len(context.order(first))
        is_expanded = step.yields is not Spec.INDEXED  # before that, lanes have made no nodes
        by_lanes = is_expanded and (before <= limit or count > 2 * before)
        raise NodeLimitError(f"{count} nodes, the limit is {limit}", by_lanes=by_lanes)


def _checked(name: str, node: Node, spec: Spec, context: Context) -> Stage:
    verify(node, spec, f"pass {name}", context.order(node), context.checked)
    return Stage(name, node)


__all__ = ["PIPELINE", "Context", "Pass", "Stage", "run_pipeline"]
