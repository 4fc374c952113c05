"""Found by reading: `replay calibrate` left records out and did not say why.

Their kind: what a count leaves out is itself counted, by reason.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "replay"))

from programs import DIFFERENCE, make_corpus, record_of, run  # beside the other tests of replay


@pytest.fixture
def corpus(tmp_path):
    sound, changed = (record_of(DIFFERENCE.format(size=size)) for size in (5, 6))
    changed = record_of(DIFFERENCE.format(size=6), source=f"{changed.source}; another\n")
    return make_corpus(tmp_path / "corpus", [sound, changed])


@pytest.mark.slow  # two replays
def test_records_that_judge_nothing_are_counted_by_reason(corpus, capsys):
    words = ("--mutant", "le-constant", "--examples", 0, "--jobs", 1)
    _, out, _ = run(capsys, "calibrate", "--corpus", corpus, *words)
    assert "1 records; 1 left out: 1 code" in out


def test_where_no_record_is_left_the_reasons_are_in_the_message(tmp_path, capsys):
    record = record_of(DIFFERENCE.format(size=6))
    records = [record_of(DIFFERENCE.format(size=6), source=f"{record.source}; another\n")]
    corpus = make_corpus(tmp_path / "corpus", records)
    words = ("--mutant", "le-constant", "--examples", 0, "--jobs", 1)
    code, _, err = run(capsys, "calibrate", "--corpus", corpus, *words)
    assert code == 3
    assert "with the compiler as it is: 1 code; see" in err
