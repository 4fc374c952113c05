"""Searched opts beside the heuristics': `python -m benchmarks.search CORPUS...` prints JSON.

The kernels are those of the corpora for LLVM, each once. What a search found is measured once more,
in children of its own, in turns with the heuristics' choice: what won by luck does not win again.
"""

import json
import math
import sys
import time
from pathlib import Path

from benchmarks.child import stay_on_one_core

stay_on_one_core()  # before our runtime counts the cores; children inherit it

from compiler import CompileOptions, Cost, Node, SearchOptions, compile_kernel, parse_node  # noqa: E402  # see above
from compiler.bench import Bench  # noqa: E402  # likewise
from compiler.compile import search_opts  # noqa: E402  # likewise
from compiler.kernel import Opt, format_opts  # noqa: E402  # likewise
from compiler.target import LLVM  # noqa: E402  # likewise
from corpus import Stored, open_reader  # noqa: E402  # likewise

OPTIONS = CompileOptions(search=SearchOptions(beam=4, cost=Cost.TIME))
ROUNDS = 3


def main() -> None:
    """The ratios of all kernels, their mean and the worst, and what the search took."""
    ratios: list[float] = []
    started = time.perf_counter()
    for ast in dict.fromkeys(ast for name in sys.argv[1:] for ast in kernels(Path(name))):
        found = search_opts(ast, LLVM, OPTIONS)
        ratio = 1.0
        if found.opts != found.by_heuristics:
            ratio = measured(ast, found.by_heuristics, found.opts)
        ratios.append(ratio)
        opts = [format_opts(opts) or "none" for opts in (found.by_heuristics, found.opts)]
        print(f"{ratio:.2f}  {' -> '.join(opts)}", file=sys.stderr, flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    result = {
        "kernels": len(ratios),
        "mean": mean,
        "worst": min(ratios),
        "seconds": (time.perf_counter() - started) / len(ratios),
    }
    print(json.dumps(result))


def kernels(corpus: Path) -> list[Node]:
    """The ASTs of a corpus that are compiled for LLVM, by key."""
    with open_reader(corpus) as reader:
        records = [item.record for item in reader if isinstance(item, Stored)]
    wanted = [record for record in records if record.target.backend == LLVM.backend]
    return [parse_node(record.ast) for record in wanted]


def measured(ast: Node, before: tuple[Opt, ...], after: tuple[Opt, ...]) -> float:
    """How many times as fast a kernel is under the opts `after`."""
    programs = [compile_kernel(ast, LLVM, opts=opts).program for opts in (before, after)]
    with Bench(ast, LLVM, OPTIONS.search.limit_s) as bench:
        times = [bench.times(programs, is_careful=True) for _ in range(ROUNDS)]
    best = [
        min([each for each in column if isinstance(each, float)])
        for column in zip(*times, strict=True)
    ]
    return best[0] / best[1]


if __name__ == "__main__":
    main()
