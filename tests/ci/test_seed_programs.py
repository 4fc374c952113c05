"""Programs of the seeds that are there for a mutant of the compiler, and see it."""

import subprocess
import sys
from pathlib import Path

import pytest

from replay.cli import main

ROOT = Path(__file__).parents[2]
SEEN_BY = {
    "one-multiple": "positions",
    "cast-of-cast": "narrowings",
    "times-zero": "zeros",
    "plus-zero": "zeros",
    "where-not": "opposites",
    "rest-of-division": "positions",
    "quotient": "positions",
    "ties": "roundings",
}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """One corpus for each program, of the LLVM target."""
    place = tmp_path_factory.mktemp("seeds")
    for name in sorted(set(SEEN_BY.values())):
        script = f"import seed_programs as s\nfor x in s.{name}('llvm'): x.realize()"
        program = [sys.executable, "-c", script]
        words = ["-m", "replay.cli", "capture", "--corpus", place / name, "--", *program]
        command = [sys.executable, *map(str, words)]
        subprocess.run(command, cwd=ROOT / "ci", check=True, capture_output=True)
    return place


@pytest.mark.slow  # a copy of the compiler and a replay for each
@pytest.mark.parametrize("mutant", SEEN_BY)
def test_a_program_of_the_seeds_kills_the_mutant_that_it_is_there_for(corpora, mutant, capsys):
    words = ["--mutant", mutant, "--examples", "0", "--jobs", "1"]
    code = main(["calibrate", "--corpus", str(corpora / SEEN_BY[mutant]), *words])
    assert (code, "1 of 1 mutants killed" in capsys.readouterr().out) == (0, True)
