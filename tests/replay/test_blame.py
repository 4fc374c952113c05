"""`replay blame` on compilers with a fault planted: it names the place where the fault is."""

import json
import subprocess

import pytest
from programs import (
    DIFFERENCE,
    PADDED,
    ROW_SUMS,
    SWAP_SUB,
    TRIPLE,
    WRONG_PASS,
    WRONG_RULE,
    make_corpus,
    patched,
    record_of,
    run,
)

from replay.blame.examine import first_bad
from replay.patched import Patch

WRONG_OPT = Patch(
    "compiler/kernel/opts/cut.py",
    "outer_kind, origin, step * inner_size)",
    "outer_kind, origin, step * outer_size)",
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    texts = (
        TRIPLE,
        PADDED,
        ROW_SUMS.format(rows=12, columns=24, all=288),
        DIFFERENCE.format(size=5),
    )
    path = tmp_path_factory.mktemp("blame") / "corpus"
    return make_corpus(path, [record_of(text) for text in texts])


def key_of(capsys, corpus, text):
    _, out, _ = run(capsys, "list", "--corpus", corpus, "--json")
    records = json.loads(out)
    wanted = record_of(text)
    listed = records if isinstance(records, list) else records["records"]
    return next(record["key"] for record in listed if record["name"] == wanted.name)


def blame(capsys, tmp_path, corpus, text, *patches):
    tree = ["--compiler", patched(tmp_path / "tree", *patches)] if patches else []
    key = key_of(capsys, corpus, text)
    code, out, err = run(capsys, "blame", key, "--corpus", corpus, *tree, "--json")
    assert code in (0, 3), err
    return code, json.loads(out)


def test_a_wrong_rule_is_named_with_its_application(capsys, tmp_path, corpus):
    code, found = blame(capsys, tmp_path, corpus, TRIPLE, WRONG_RULE)
    assert (code, found["stage"]) == (0, "nodes")
    assert "MUL float32" in found["before"]
    assert "MUL float32" not in found["after"]
    assert 1 <= found["application"] <= found["applications"]


def test_a_wrong_pass_is_named_and_no_rule(capsys, tmp_path, corpus):
    code, found = blame(capsys, tmp_path, corpus, PADDED, WRONG_PASS)
    assert (code, found["stage"], found["rule"]) == (0, "gates", None)
    stages = found["stages"]
    assert [stages[name] for name in ("nodes", "expand", "gates")] == [True, True, False]


def test_a_wrong_opt_is_named(capsys, tmp_path, corpus):
    text = ROW_SUMS.format(rows=12, columns=24, all=288)
    code, found = blame(capsys, tmp_path, corpus, text, WRONG_OPT)
    assert (code, found["stage"]) == (0, "nodes")
    first = found["opts"].split("; ")[0]
    assert found["opt"] == first


def test_a_wrong_renderer_is_told_from_the_passes(capsys, tmp_path, corpus):
    code, found = blame(capsys, tmp_path, corpus, DIFFERENCE.format(size=5), SWAP_SUB)
    assert (code, found["stage"], found["device"]) == (0, None, "wrong")


def test_a_right_kernel_has_nobody_to_blame(capsys, tmp_path, corpus):
    code, found = blame(capsys, tmp_path, corpus, TRIPLE)
    assert (code, found["answered"], found["device"]) == (3, False, "exact")


@pytest.fixture
def tree(tmp_path):
    """A checkout of this compiler, committed."""
    path = patched(tmp_path / "checkout")
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "compiler"), (*who, "commit", "-qm", "right")):
        subprocess.run(["git", "-C", path, *words], check=True)
    return path


def change(tree, patch):
    path = tree / patch.file
    path.write_text(path.read_text().replace(patch.before, patch.after))


def test_against_a_revision_the_first_application_that_differs_is_named(capsys, tree, corpus):
    change(tree, WRONG_RULE)
    key = key_of(capsys, corpus, TRIPLE)
    words = ("blame", key, "--corpus", corpus, "--compiler", tree, "--against", "HEAD", "--json")
    code, out, _ = run(capsys, *words)
    found = json.loads(out)
    assert code == 0
    assert found["differs"]["stage"] == "nodes"
    assert found["differs"]["ours"]["number"] == found["application"]
    assert found["differs"]["ours"]["rule"] == found["rule"]


def test_against_a_revision_a_pass_that_differs_is_told_from_a_rule(capsys, tree, corpus):
    change(tree, WRONG_PASS)
    key = key_of(capsys, corpus, PADDED)
    words = ("blame", key, "--corpus", corpus, "--compiler", tree, "--against", "HEAD")
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert "first stage that differs: gates" in out


def test_against_an_equal_revision_nothing_differs(capsys, tree, corpus):
    key = key_of(capsys, corpus, TRIPLE)
    words = ("blame", key, "--corpus", corpus, "--compiler", tree, "--against", "HEAD", "--json")
    code, out, _ = run(capsys, *words)
    assert (code, json.loads(out)["differs"]) == (3, None)


def test_the_text_says_stage_rule_and_opt_and_how_to_see_more(capsys, tmp_path, corpus):
    tree = patched(tmp_path / "tree", WRONG_RULE)
    key = key_of(capsys, corpus, TRIPLE)
    _, out, _ = run(capsys, "blame", key, "--corpus", corpus, "--compiler", tree)
    lines = out.splitlines()
    assert any(line.startswith("first wrong stage: nodes") for line in lines)
    assert any(line.startswith("rule: ") and ", application " in line for line in lines)
    assert any("--rewrite-limit" in line for line in lines)
    assert lines[-1].startswith("opt: none")


def test_a_record_that_does_not_compile_is_said_in_one_line(capsys, tmp_path, corpus):
    gone = Patch("compiler/kernel/opts/__init__.py", "OPTS = (Upcast, Unroll, ", "OPTS = (Upcast, ")
    key = key_of(capsys, corpus, ROW_SUMS.format(rows=12, columns=24, all=288))
    tree = patched(tmp_path / "tree", gone)
    code, _, err = run(capsys, "blame", key, "--corpus", corpus, "--compiler", tree)
    assert code == 3
    assert err.count("\n") == 1
    assert "does not compile" in err


@pytest.mark.parametrize("first", [1, 2, 7, 63, 64])
def test_the_first_bad_number_is_found_by_few_questions(first):
    asked = []

    def is_bad(number):
        asked.append(number)
        return number >= first

    assert first_bad(is_bad, 64) == first
    assert len(asked) <= 6


def test_what_hides_the_fault_again_does_not_lead_to_a_good_number():
    assert first_bad(lambda number: number in (3, 4, 60, 61, 62, 63, 64), 64) in (3, 60)
