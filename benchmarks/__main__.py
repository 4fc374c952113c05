"""The whole table in one run. To add a part: a function, and a line in PARTS."""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from statistics import median

from benchmarks.child import ROOT, measure, run
from benchmarks.machine import describe
from benchmarks.table import Row, compared, render
from corpus import open_reader
from examples.models import matching

MODEL = ROOT / ".models/speechmos/dnsmos_models/model_v8.onnx"
MODEL_SEEDS = ROOT / "corpus/seeds/models.txt"
REPLAY = (sys.executable, "-m", "replay.cli")
ROUNDS = 3  # of whole commands; the fastest counts
COLD_ROUNDS = 9  # of each model, with and without capture
INSTALLED = (str(Path(sys.executable).with_name("replay")),)  # as it is typed
CAPTURED = (
    "speechmos/dnsmos_models/model_v8.onnx",
    "speechmos/dnsmos_models/sig.onnx",
    "speechmos/dnsmos_models/bak_ovr.onnx",
    "speechmos/dnsmos_models/sig_bak_ovr.onnx",
    "silero_vad/data/silero_vad_16k_op15.onnx",
    "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
)
# Goals in absolute numbers: 10 and 50 times what the reference compiler did on another
# machine (2 cores Zen 5, LLVM 53 and OpenCL 41 kernels/s, replay 12.8/s). They are no peer.
GOALS = {"llvm": "530/s on Zen 5", "opencl": "410/s on Zen 5"}


def programs() -> list[tuple[str, ...]]:
    """The commands whose kernels are measured."""
    found: list[tuple[str, ...]] = [(sys.executable, "-m", "benchmarks.tensors")]
    if MODEL.exists():
        found.append((sys.executable, "-m", "compiler.onnx", str(MODEL)))
    return found


def _fastest(module: str, *arguments: str, python: str = sys.executable) -> tuple[int, float]:
    """Kernels, and kernels per second, of the best of some processes."""
    runs = [measure(module, *arguments, python=python) for _ in range(ROUNDS)]
    best = min(runs, key=lambda found: found["seconds"])
    return int(best["kernels"]), best["kernels"] / best["seconds"]


def peer_speed(directory: Path, peer: str) -> list[Row]:
    """AST to source of the tensor programs alone, beside another compiler's."""
    corpus = directory / "programs"
    run((*REPLAY, "capture", "--corpus", str(corpus), "--", *programs()[0]))
    rows: list[Row] = []
    for backend in GOALS:
        kernels, ours = _fastest("compile_speed", str(corpus), backend)
        others, theirs = _fastest("peer", backend, python=peer)
        what = f"AST to source, {backend}, tensor programs"
        texts = (f"{ours:.0f} kernels/s ({kernels})", f"{theirs:.0f} tinygrad ({others})")
        rows.append(Row(what, *texts, f"{ours / theirs:.1f}", "10"))
    return rows


def compile_speed(corpus: Path) -> list[Row]:
    """Kernels per second from AST to source: of programs, of a training step, and of models."""
    sets = {"programs": corpus, "one of each kind in 18 models": MODEL_SEEDS}
    if find_spec("sklearn") is not None:  # the digits come with it
        sets["a training step"] = corpus.with_name("training")
        command = (sys.executable, "-m", "benchmarks.training")
        run((*REPLAY, "capture", "--corpus", str(sets["a training step"]), "--", *command))
    rows: list[Row] = []
    for name, kernels in sets.items():
        for backend, goal in GOALS.items():
            count, rate = _fastest("compile_speed", str(kernels), backend)
            what = f"AST to source, {backend}, {name} ({count})"
            rows.append(Row(what, f"{rate:.0f} kernels/s", goal=goal))
    return rows


def kernel_speed(_: Path) -> list[Row]:
    """Matmul and streams beside NumPy on one thread."""
    found = measure("speed")
    rows = [
        compared(f"matmul float32 {n}", found[f"matmul{n}"], found[f"numpy{n}"], "GFLOPS", "NumPy")
        for n in (512, 1024)
    ]
    for name, what in (("add", "elementwise add"), ("row_sum", "row sum")):
        rows.append(compared(what, found[name], found["numpy"], "GB/s", "NumPy's stream"))
    return rows


def end_to_end(_: Path) -> list[Row]:
    """From arrays to an array, beside NumPy on one thread; the goals are what must hold."""
    found = measure("end_to_end")
    rows: list[Row] = []
    for name, ours in found.items():
        if name.endswith(", NumPy"):
            continue
        peer = found[f"{name}, NumPy"]
        texts = (f"{1e3 * ours:.2f} ms", f"{1e3 * peer:.2f} ms NumPy")
        rows.append(Row(name, *texts, f"{peer / ours:.2f}", _BARS.get(name, "0.6")))
    return rows


_BARS = {
    "matmul 512": "0.8",
    "matmul 1024": "0.8",
    "matmul 2048": "0.7",
    "softmax 4096 rows of 1024": "3",
    "layernorm 4096 rows of 1024": "3",
}


def threads(_: Path) -> list[Row]:
    """What two threads gain; on a loaded machine the CPU time of the longer one says more."""
    found = measure("threads")
    rows: list[Row] = []
    for name, ratio in found.items():
        if name.endswith(", wall"):
            case = name.removesuffix(", wall")
            shared = f"{found[f'{case}, cpu']:.2f} by CPU time"
            rows.append(Row(f"two threads, {case}", f"{ratio:.2f} wall clock", shared, goal="1.7"))
    return rows


def training(_: Path) -> list[Row]:
    """A step of the digits net; there is no peer."""
    return [Row("training step of the digits net", f"{measure('training')['step_ms']:.2f} ms")]


def replay_speed(corpus: Path) -> list[Row]:
    """Records per second of the whole command on a corpus of which nothing has changed."""
    with open_reader(corpus) as reader:
        records = len(reader)
    rows: list[Row] = []
    for skips, goal in (("--no-skip", "640/s on Zen 5"), ("", "12800/s on Zen 5")):
        command = (*REPLAY, "run", "--corpus", str(corpus), "--jobs", "2", *skips.split())
        rate = records / min(run(command).wall_s for _ in range(ROUNDS))
        what = f"replay run {skips or 'by fingerprint'}, {records} records, 2 jobs"
        rows.append(Row(what, f"{rate:.1f} records/s", goal=goal))
    return rows


def capture_overhead(corpus: Path) -> list[Row]:
    """Cold runs with and without capture, in turns; on a loaded machine CPU time says more."""
    rows: list[Row] = []
    for model in matching(CAPTURED):
        command = (sys.executable, "-m", "compiler.onnx", *model.arguments("llvm"))
        rows += _overhead(Path(model.path).stem, command, corpus)
    return rows or _overhead("tensors", programs()[0], corpus)


def _overhead(name: str, command: tuple[str, ...], corpus: Path) -> list[Row]:
    plain, captured = [], []
    fresh = corpus.with_name("overhead")
    for _ in range(COLD_ROUNDS):
        plain.append(run(command))
        captured.append(run((*INSTALLED, "capture", "--corpus", str(fresh), "--", *command)))
        shutil.rmtree(fresh)
    rows: list[Row] = []
    for what, clock in (("wall clock", attrgetter("wall_s")), ("CPU", attrgetter("cpu_s"))):
        with_it, without = sorted(map(clock, captured)), sorted(map(clock, plain))
        least = with_it[0] / without[0] - 1
        middle = median(with_it) / median(without) - 1
        times = (f"{with_it[0]:.2f} s", f"{without[0]:.2f} s without it")
        more = f"{least:+.1%}, of medians {middle:+.1%}"
        rows.append(Row(f"capture, {name} cold, {what}", *times, more, "3%"))
    return rows


def search(corpus: Path) -> list[Row]:
    """What beam search by timings gains over the heuristics, on kernels of programs and models."""
    found = measure("search", str(corpus), str(MODEL_SEEDS))
    count = int(found["kernels"])
    took = f"{found['seconds']:.1f} s a kernel"
    return [
        Row(
            f"search, llvm, {count} kernels, geometric mean",
            f"{found['mean']:.2f}",
            took,
            goal="1.1",
        ),
        Row("the slowest beside the heuristics' choice", f"{found['worst']:.2f}", goal="0.95"),
    ]


def frontend_cost(_: Path) -> list[Row]:
    """Launches of recorded programs, and scheduling."""
    found = measure("launches")
    eager = f"{found['eager_us']:.1f} us scheduled each time"
    ratio = f"{found['eager_us'] / found['launch_us']:.0f}"
    name = "launch of a recorded kernel, llvm"
    rows = [
        Row(name, f"{found['launch_us']:.1f} us", eager, ratio, "10 us"),
        Row("the same, into new memory", f"{found['state_us']:.1f} us", goal="10 us"),
    ]
    graphs = (
        ("chain100_s", "a chain of 100 layers"),
        ("graph1000_s", "a graph of 1,000 nodes"),
        ("prime_s", "a sum of 10,007 elements"),
        ("backward_s", "100 layers with their gradients"),
    )
    return rows + [Row(f"schedule {what}", f"{found[name] * 1e3:.1f} ms") for name, what in graphs]


PARTS: tuple[Callable[[Path], list[Row]], ...] = (
    compile_speed,
    kernel_speed,
    end_to_end,
    threads,
    training,
    frontend_cost,
    search,
    replay_speed,
    capture_overhead,
)


def main() -> None:
    """Capture the programs, then measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    names = [part.__name__ for part in PARTS]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {' '.join(names)}")
    parser.add_argument("--peer", metavar="PYTHON", help="one that has tinygrad 0.10.2")
    given = parser.parse_args()
    if set(given.parts) - set(names):
        parser.error(f"a part is one of {' '.join(names)}")
    print(describe())
    with tempfile.TemporaryDirectory(prefix="kernel-replay-bench-") as directory:
        os.environ["XDG_CACHE_HOME"] = (
            directory  # what replay remembers of our corpora goes as well
        )
        corpus = Path(directory) / "corpus"
        for command in programs():
            run((*REPLAY, "capture", "--corpus", str(corpus), "--", *command))
        wanted = given.parts or names
        rows = [row for part in PARTS if part.__name__ in wanted for row in part(corpus)]
        if given.peer:
            rows = [*peer_speed(Path(directory), given.peer), *rows]
    print(render(rows), end="")


if __name__ == "__main__":
    main()
