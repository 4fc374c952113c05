"""`replay calibrate`: deliberate faults, and who notices."""

import contextlib
import io
import json

import pytest
from programs import DIFFERENCE, PADDED, ROW_SUMS, make_corpus, record_of

from replay.cli import main

SPLIT = ROW_SUMS.format(rows=64, columns=64, all=4096)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    texts = (PADDED, DIFFERENCE.format(size=4), SPLIT)
    return make_corpus(tmp_path_factory.mktemp("calibrate") / "corpus", map(record_of, texts))


def run(corpus, *words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(["calibrate", "--corpus", str(corpus), "--jobs", "1", *words])
    return code, out.getvalue()


@pytest.fixture(scope="module")
def found(corpus):
    """Three mutants: one makes a kernel wrong, one only other code, and one nothing here."""
    words = ("--mutant", "read-gate", "--mutant", "split-order", "--mutant", "shift")
    code, out = run(corpus, *words, "--examples", "0", "--json")
    return code, json.loads(out)


def mutant(found, name):
    return next(each for each in found[1]["mutants"] if each["name"] == name)


def test_a_fault_that_makes_numbers_wrong_is_killed_by_them(found):
    gate = mutant(found, "read-gate")
    assert (gate["killed"], gate["oracles"]) == (True, ["numerics"])
    assert gate["records"]["numerics"] == 1


def test_a_fault_that_keeps_results_is_killed_by_the_comparison_of_sources(found):
    order = mutant(found, "split-order")
    assert (order["killed"], order["oracles"]) == (True, ["source"])
    assert order["records"]["numerics"] == 0


def test_a_fault_that_nobody_sees_survives_and_fails_the_calibration(found):
    code, report = found
    assert code == 1
    assert (mutant(found, "shift")["killed"], mutant(found, "shift")["oracles"]) == (False, [])
    assert (report["killed"], report["total"], report["records"]) == (2, 3, 3)


def test_all_killed_is_a_success_that_says_by_whom(corpus):
    code, out = run(corpus, "--mutant", "read-gate", "--examples", "0")
    assert code == 0
    assert out.startswith("killed   read-gate         by numerics 1 (")
    assert out.endswith("1 of 1 mutants killed\n")


def test_an_unknown_mutant_is_a_usage_error_that_lists_them(corpus, capsys):
    assert main(["calibrate", "--corpus", str(corpus), "--mutant", "nothing"]) == 2
    assert "read-gate" in capsys.readouterr().err


@pytest.mark.slow
def test_what_a_corpus_lets_live_is_left_to_fuzzing(corpus):
    code, out = run(corpus, "--mutant", "last-term", "--only", "E*", "--examples", "200")
    assert (code, "by fuzz after" in out) == (0, True)
