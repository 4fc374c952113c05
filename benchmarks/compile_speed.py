"""AST to source: every kernel of a corpus once, in this process, as a cold compiler meets them.

`python -m benchmarks.compile_speed CORPUS TARGET` prints kernels and CPU seconds as JSON.
"""

import gc
import json
import sys
import time
from pathlib import Path

from compiler import compile_kernel, find_target, parse_node
from corpus import Stored, open_reader


def asts(corpus: Path) -> list[str]:
    """The distinct ASTs, in order of their records' keys."""
    with open_reader(corpus) as reader:
        found = {item.record.ast: None for item in reader if isinstance(item, Stored)}
    return list(found)


def main(corpus: str, backend: str) -> None:
    """Compile each kernel with the default options, verification on and no cache."""
    target = find_target(backend)
    kernels = [parse_node(text) for text in asts(Path(corpus))]
    gc.collect()
    started = time.process_time()
    for kernel in kernels:
        compile_kernel(kernel, target)
    seconds = time.process_time() - started
    print(json.dumps({"kernels": len(kernels), "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
