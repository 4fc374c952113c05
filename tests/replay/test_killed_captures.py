"""What a program printed of its kernels is in the corpus, whoever is killed, and when. Slow."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corpus import Status, Stored, check_corpus, open_reader

ROOT = Path(__file__).parents[2]
WRITERS = 8
PROGRAM = """
import sys
import numpy as np
from compiler import Tensor
first = int(sys.argv[1])
for number in range(300):
    is_shared = number % 3 == 0
    size = 1000 + number if is_shared else 10_000 + 1000 * first + number
    (Tensor(np.ones(size, np.float32)) + 1).realize()
    print(size, flush=True)
"""


def captured(corpus, number, output):
    command = [sys.executable, "-m", "replay.cli", "capture", "--corpus", corpus, "--"]
    return subprocess.Popen(
        [str(word) for word in (*command, sys.executable, "-c", PROGRAM, number)],
        cwd=ROOT,
        stdout=output,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def program_of(process):
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return int(children.split()[0])


def kill_some_of(process, how, pause_s):
    """The program, the command and then the program, or both at once."""
    if how == "program":
        os.kill(program_of(process), signal.SIGKILL)
    elif how == "command":
        process.kill()
        time.sleep(pause_s)  # the program goes on alone
    if how != "program":
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
def test_every_kernel_that_was_printed_is_whole_after_eight_captures_are_killed(tmp_path, seed):
    chance = random.Random(seed)
    corpus = tmp_path / "corpus"
    files = [(tmp_path / f"out{number}").open("w+") for number in range(WRITERS)]
    processes = [captured(corpus, number, file) for number, file in enumerate(files)]
    while not all(os.path.getsize(file.name) for file in files):
        assert all(process.poll() is None for process in processes)
        time.sleep(0.01)
    for process in chance.sample(processes, WRITERS):
        time.sleep(chance.random() * 0.1)
        kill_some_of(process, chance.choice(("program", "command", "both")), chance.random())
    printed = set()
    for file in files:
        file.seek(0)
        printed |= {int(line) for line in file.read().split("\n")[:-1]}
        file.close()
    with open_reader(corpus) as reader:
        check = check_corpus(reader)
        items = list(reader)
    assert (check.is_whole, check.lost) == (True, 0)
    assert all(isinstance(item, Stored) for item in items)
    whole = [item.record for item in items if item.record.status is Status.FINISHED]
    stored = {int(re.search(r"slot=0 size=(\d+)", record.ast).group(1)) for record in whole}
    assert len(printed) >= WRITERS
    assert printed <= stored
    assert all(record.source and record.stages and record.launch for record in whole)
