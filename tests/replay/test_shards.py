"""Parts of a corpus, replayed apart and put together: nothing is lost, nothing is there twice."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import (
    DIFFERENCE,
    SPACING,
    keys_of,
    make_corpus,
    patched,
    record_of,
    run,
    small_corpus,
)

from corpus import Form, export_corpus, open_reader, open_writer
from replay.errors import UsageError
from replay.shard import Shard, parse_shard

KEYS = st.text("0123456789abcdef", min_size=64, max_size=64)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return small_corpus(tmp_path_factory.mktemp("corpora") / "small")


@given(KEYS, st.integers(1, 300))
def test_every_key_lies_in_exactly_one_shard(key, total):
    assert sum(Shard(number, total).has(key) for number in range(1, total + 1)) == 1


def test_shards_of_many_keys_are_of_one_size():
    keys = [f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}{0:048x}" for number in range(4000)]
    sizes = [sum(Shard(number, 4).has(key) for key in keys) for number in range(1, 5)]
    assert max(sizes) - min(sizes) < 100


@pytest.mark.parametrize("text", ["", "0/2", "3/2", "1", "a/b", "1/2/3", "-1/2", "1/0"])
def test_what_is_no_shard_is_refused(capsys, tmp_path, text):
    with pytest.raises(UsageError, match="I from 1 to N"):
        parse_shard(text)
    code, _, err = run(capsys, "run", "--corpus", tmp_path, f"--shard={text}")
    assert (code, err.count("\n"), "I from 1 to N" in err) == (2, 1, True)


def replay(capsys, corpus, *options):
    words = ("run", "--corpus", corpus, "--verify", "none", "--determinism", "none", "--jobs", "1")
    return run(capsys, *words, *options)[0]


def replay_shards(capsys, corpus, directory, total, *options):
    parts = [directory / f"part-{number}" for number in range(1, total + 1)]
    for number, part in enumerate(parts, 1):
        replay(capsys, corpus, "--shard", f"{number}/{total}", "--report", f"part:{part}", *options)
    return parts


def merge(capsys, *parts):
    code, out, err = run(capsys, "merge", *parts, "--report", "json:-")
    return code, json.loads(out) if out else err


def test_shards_put_together_are_the_report_of_the_whole(capsys, tmp_path, corpus):
    options = ("--compiler", patched(tmp_path / "copy", SPACING))
    parts = replay_shards(capsys, corpus, tmp_path, 3, *options)
    code, merged = merge(capsys, *reversed(parts))
    assert replay(capsys, corpus, *options, "--report", f"json:{tmp_path / 'whole'}") == code == 1
    whole = json.loads((tmp_path / "whole").read_text())
    different = {name for name in whole if whole[name] != merged[name]}
    assert different <= {"compiles", "notes"}  # what a shard knows, the whole need not compile
    assert [record["key"] for record in merged["records"]] == keys_of(corpus)


def test_a_shard_that_is_missing_or_there_twice_is_refused(capsys, tmp_path, corpus):
    parts = replay_shards(capsys, corpus, tmp_path, 2)
    assert merge(capsys, parts[0]) == (
        3,
        "replay: parts of 2 shards: shards [2] are missing; give each once\n",
    )
    assert "a shard is there twice" in merge(capsys, *parts, parts[1])[1]


def test_shards_of_two_corpora_are_refused(capsys, tmp_path, corpus):
    other = make_corpus(tmp_path / "other", [record_of(DIFFERENCE.format(size=4))])
    replay(capsys, corpus, "--shard", "1/2", "--report", f"part:{tmp_path / 'one'}")
    replay(capsys, other, "--shard", "2/2", "--report", f"part:{tmp_path / 'two'}")
    code, err = merge(capsys, tmp_path / "one", tmp_path / "two")
    assert code == 3
    assert "replays another corpus" in err


def test_a_shard_without_a_record_passes_and_the_whole_is_judged(capsys, tmp_path):
    corpus = make_corpus(tmp_path / "c", [record_of(DIFFERENCE.format(size=4))])
    parts = [tmp_path / f"part-{number}" for number in (1, 2)]
    for number, part in enumerate(parts, 1):
        assert replay(capsys, corpus, "--shard", f"{number}/2", "--report", f"part:{part}") == 0
    code, merged = merge(capsys, *parts)
    assert (code, merged["totals"]["same"], merged["totals"]["records"]) == (0, 1, 1)


def test_a_shard_without_a_record_says_so_and_fails_for_what_the_corpus_lacks(capsys, tmp_path):
    corpus = make_corpus(tmp_path / "c", [record_of(DIFFERENCE.format(size=4))])
    (empty,) = [text for text in ("1/2", "2/2") if not parse_shard(text).has(*keys_of(corpus))]
    code, out, _ = run(capsys, "run", "--corpus", corpus, "--shard", empty)
    assert (code, f"note: no record that was asked for lies in shard {empty}" in out) == (0, True)
    with open_writer(corpus) as writer:
        writer.note_lost()
    code, out, _ = run(capsys, "run", "--corpus", corpus, "--shard", empty)
    assert (code, "the corpus is incomplete: 1 record is lost" in out) == (1, True)


@pytest.mark.parametrize("form", [None, Form.TEXT, Form.BINARY])
def test_no_shard_of_an_empty_corpus_passes(capsys, tmp_path, form):
    corpus = make_corpus(tmp_path / "c", [])
    if form is not None:
        with open_reader(corpus, allow_empty=True) as reader:
            export_corpus(reader, corpus := tmp_path / "file", form=form)
    code, _, err = run(capsys, "run", "--corpus", corpus, "--shard", "2/2")
    assert (code, "holds no records" in err) == (3, True)


@pytest.mark.parametrize("text", ["", "{}", '{"form": 2, "report": {}}', "\x00"])
def test_what_is_no_part_is_one_line_and_exit_code_3(capsys, tmp_path, text):
    (tmp_path / "part").write_text(text)
    code, err = merge(capsys, tmp_path / "part")
    assert (code, err.count("\n")) == (3, 1)
