"""`python -m benchmarks.scale [RECORDS]`: what each command takes of time and memory on a corpus of
that many records (default 100,000), each in a process of its own.

The corpus is `benchmarks.synthetic`; that the compiler makes its records is taken as known, so that
the replay shows what looking them up costs. Each once; on a loaded machine CPU time says more.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.child import ROOT, environment
from benchmarks.machine import describe
from benchmarks.synthetic import write
from corpus import Stored, decode_item, digest_of_body, open_reader
from replay.fingerprint import Memory, cache_path
from replay.recompile import Mode
from replay.shard import WHOLE, Shard

REPLAY = (sys.executable, "-m", "replay.cli")
_DISTINCT = 300
# In a process between: a child's peak memory begins with that of the process it was forked from.
_RUN = """
import resource, subprocess, sys, time
started = time.perf_counter()
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(code)
"""
_OPEN = "import sys; from corpus import open_reader; print(len(open_reader(sys.argv[1])))"


def measured(command: Sequence[str], environ: Mapping[str, str]) -> tuple[float, float, float]:
    """Wall clock, CPU seconds and peak MiB of a command; raises if it fails."""
    done = subprocess.run(
        (sys.executable, "-c", _RUN, *command),
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    wall_s, cpu_s, peak_kib = map(float, done.stdout.split())
    return wall_s, cpu_s, peak_kib / 1024


def know(corpus: Path, environ: Mapping[str, str], shard: Shard = WHOLE) -> None:
    """Let the next replay know every record as made by this very compiler."""
    path = cache_path(environ, corpus, shard)
    assert path is not None
    memory = Memory(path, ROOT / "compiler", Mode.PINNED, environ)
    with open_reader(corpus) as reader:
        for raw in reader.values():
            item = decode_item(raw)
            assert isinstance(item, Stored)
            assert isinstance(raw, tuple)
            if shard.has(item.key):
                memory.learn(item, digest_of_body(*raw))
        digest = reader.digest()
        assert digest is not None
    memory.settle(digest)
    memory.save()


def commands(corpus: Path, directory: Path) -> list[tuple[str, tuple[str, ...]]]:
    """What is measured, by name."""
    at = ("--corpus", str(corpus))
    return [
        ("open, count", (sys.executable, "-c", _OPEN, str(corpus))),
        ("replay list", (*REPLAY, "list", *at)),
        ("replay corpus check", (*REPLAY, "corpus", "check", *at)),
        ("replay run, all known", (*REPLAY, "run", *at, "--jobs", "2")),
        ("the same, shard 1/10", (*REPLAY, "run", *at, "--jobs", "2", "--shard", "1/10")),
        ("replay corpus export", (*REPLAY, "corpus", "export", str(directory / "a.kr"), *at)),
        ("replay corpus merge", (*REPLAY, "corpus", "merge", str(corpus), *_into(directory))),
    ]


def _into(directory: Path) -> tuple[str, str]:
    return ("--corpus", str(directory / "merged"))


def main() -> None:
    """Make the corpus, run every command on it, print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale")
    parser.add_argument("records", type=int, nargs="?", default=100_000)
    given = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="kernel-replay-scale-"))
    environ = {**environment(), "XDG_CACHE_HOME": str(directory / "cache")}
    corpus = directory / "corpus"
    print(describe())
    try:
        write(corpus, _DISTINCT, given.records)
        for shard in (WHOLE, Shard(1, 10)):
            know(corpus, environ, shard)
        size = sum(file.stat().st_size for file in corpus.iterdir())
        print(f"{given.records} records, {size / given.records:.0f} bytes each on disk")
        print(f"| {'what':21} | {'wall s':>7} | {'CPU s':>7} | {'records/s':>9} | peak MiB |")
        print(f"| {'-' * 21} | {'-' * 7} | {'-' * 7} | {'-' * 9} | {'-' * 8} |")
        for name, command in commands(corpus, directory):
            wall_s, cpu_s, mib = measured(command, environ)
            rate = given.records / wall_s
            line = f"| {name:21} | {wall_s:7.2f} | {cpu_s:7.2f} | {rate:9.0f} | {mib:8.0f} |"
            print(line, flush=True)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
