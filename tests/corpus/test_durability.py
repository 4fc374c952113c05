"""Nothing that was acknowledged is lost, whatever happens to the writers. Slow on purpose."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
from collections import Counter

import pytest

from corpus import (
    EmptyCorpusError,
    KernelRecord,
    MissingCorpusError,
    Status,
    Stored,
    Target,
    check_corpus,
    open_reader,
    open_writer,
)

WRITER = """
import sys
from corpus import KernelRecord, Status, Target, open_writer
path, number = sys.argv[1], int(sys.argv[2])
writer = open_writer(path)
for i in range(1_000_000):
    ast = f"shared {i}" if i % 3 == 0 else f"own {number} {i}"
    record = KernelRecord(kind="k", ast=ast, target=Target("llvm", "x"), status=Status.STARTED)
    writer.add(record)
    print("started", ast, flush=True)
    writer.complete(KernelRecord(kind="k", ast=ast, target=Target("llvm", "x"), source=ast * 50))
    print("finished", ast, flush=True)
"""


def _acknowledged(outputs: list[str]) -> tuple[Counter[str], set[str]]:
    starts: Counter[str] = Counter()
    finishes: set[str] = set()
    for output in outputs:
        for line in output.split("\n")[:-1]:
            word, _, ast = line.partition(" ")
            if word == "started":
                starts[ast] += 1
            else:
                finishes.add(ast)
    return starts, finishes


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
def test_eight_killed_writers_lose_nothing_they_acknowledged(tmp_path, seed):
    chance = random.Random(seed)
    path = tmp_path / "corpus"
    files = [(tmp_path / f"out{number}").open("w+") for number in range(8)]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, path, str(number)], stdout=file)
        for number, file in enumerate(files)
    ]
    while not all(os.path.getsize(file.name) for file in files):
        assert all(writer.poll() is None for writer in writers)
        time.sleep(0.01)
    time.sleep(chance.random())
    for writer in chance.sample(writers, len(writers)):
        writer.kill()
        time.sleep(chance.random() * 0.05)
    for writer in writers:
        writer.wait()
    starts, finishes = _acknowledged([file.seek(0) or file.read() for file in files])
    for file in files:
        file.close()
    with open_reader(path, allow_empty=True) as reader:
        check = check_corpus(reader)
        records = {item.record.ast: item.record for item in reader if isinstance(item, Stored)}
    assert (check.is_whole, check.lost) == (True, 0)
    assert set(starts) <= set(records)
    for ast in finishes:
        assert (records[ast].status, records[ast].source) == (Status.FINISHED, ast * 50)
    for ast, count in starts.items():  # a writer may have been killed before it could say so
        assert count <= records[ast].provenance.occurrences <= count + 8


MAKER = """
import sys, time
import corpus
print(flush=True)
with corpus.open_writer(sys.argv[1]) as writer:
    writer.add(corpus.KernelRecord(kind="k", ast="a", target=corpus.Target("llvm", "x")))
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_a_writer_killed_while_it_makes_a_corpus_stands_in_nobodys_way(tmp_path, seed):
    path = tmp_path / "corpus"
    maker = subprocess.Popen([sys.executable, "-c", MAKER, path], stdout=subprocess.PIPE)
    maker.stdout.readline()
    time.sleep(random.Random(seed).random() * 0.02)
    maker.kill()
    maker.communicate()
    with contextlib.suppress(MissingCorpusError, EmptyCorpusError), open_reader(path) as reader:
        assert check_corpus(reader).is_whole
    with open_writer(path) as writer:
        writer.add(KernelRecord(kind="k", ast="b", target=Target("llvm", "x")))
    with open_reader(path) as reader:
        assert {item.record.ast for item in reader} >= {"b"}


@pytest.mark.slow
def test_eight_writers_that_end_well_count_everything(tmp_path):
    path = tmp_path / "corpus"
    program = WRITER.replace("1_000_000", "300") + "writer.close()\n"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", program, path, str(number)], stdout=subprocess.DEVNULL
        )
        for number in range(8)
    ]
    assert [writer.wait() for writer in writers] == [0] * 8
    with open_reader(path) as reader:
        counts = Counter(item.record.provenance.occurrences for item in reader)
    assert counts == {8: 100, 1: 8 * 200}
