"""The rows of docs/baseline.md: what process replay gets wrong, and that this one does not."""

import gc
import json
import os
import pickle
import re
import sqlite3
from pathlib import Path

import pytest
from programs import (
    DIFFERENCE,
    DROP_AN_OPT,
    HASH_IN_THE_SOURCE,
    ROW_SUMS,
    SPACING,
    SWAP_SUB,
    before_compiling,
    keys_of,
    make_corpus,
    patched,
    record_of,
    run,
    small_corpus,
)

from compiler import CompilerError, compile_kernel, find_target, observing, parse_node
from compiler.kernel import Upcast
from compiler.options import CompileOptions, ScheduleOptions
from corpus import Stored, open_reader, open_writer
from replay.capture.environment import Capture
from replay.capture.link import Link
from replay.capture.observer import Observer
from replay.isolation.workers import Crew
from replay.patched import Patch
from replay.phases.plan import Plan, Source
from replay.phases.run import replay as replay_records

ONE = DIFFERENCE.format(size=4)
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return small_corpus(tmp_path_factory.mktemp("corpora") / "small")


def replay(capsys, corpus, *options):
    words = ("run", "--corpus", corpus, "--report", "json:-", "--verify", "none")
    code, out, err = run(capsys, *words, "--determinism", "none", "--jobs", "1", *options)
    return code, json.loads(out) if out else None, err


def test_w1_a_change_of_the_heuristics_is_seen(capsys, corpus, tmp_path):
    copy = patched(tmp_path / "copy", DROP_AN_OPT)
    code, report, _ = replay(capsys, corpus, "--compiler", copy, "--mode", "free")
    assert code == 1
    assert report["totals"]["opts"] > 0


def test_w2_records_name_opts_so_their_order_in_the_compiler_does_not_matter(
    capsys, corpus, tmp_path
):
    reorder = Patch(
        "compiler/kernel/opts/__init__.py",
        "OPTS = (Upcast, Unroll, Local, Group, GroupTop, PadTo, Swap, NoLocals, Lds, Keep, Tc)",
        "OPTS = (Tc, Keep, Lds, NoLocals, Swap, PadTo, GroupTop, Group, Local, Unroll, Upcast)",
    )
    copy = patched(tmp_path / "copy", reorder)
    code, report, _ = replay(capsys, corpus, "--compiler", copy)
    assert (code, report["totals"]["same"]) == (0, 16)


def test_w3_no_record_is_lost_to_addresses_that_are_used_again(tmp_path):
    with observing(Observer([Link(Capture(str(tmp_path), str(tmp_path / "c")))], {})):
        for size in range(1, 101):
            compile_kernel(parse_node(DIFFERENCE.format(size=size)), find_target("llvm"))
            gc.collect(0)
    assert len(keys_of(tmp_path / "c")) == 100


def test_w4_nothing_compared_is_no_pass(capsys, tmp_path):
    with open_writer(tmp_path / "c") as writer:
        writer.add(record_of(ONE))
        writer.remove(keys_of(tmp_path / "c")[0])
    code, _, err = replay(capsys, tmp_path / "c")
    assert code == 3
    assert err.count("\n") == 1


def test_w5_launch_sizes_and_estimates_are_compared(capsys, corpus, tmp_path):
    double = Patch(
        "compiler/compile.py",
        "launch, estimates(ast))",
        "launch, type(estimates(ast))(2 * estimates(ast).flops, 0))",
    )
    copy = patched(tmp_path / "copy", double)
    code, report, _ = replay(capsys, corpus, "--compiler", copy)
    assert code == 1
    assert {tuple(record["facets"]) for record in report["records"]} == {("estimates",)}


class Bomb:
    def __reduce__(self):
        return (Path.touch, (Path("exploded"),))


def test_w6_reading_a_row_runs_nothing(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus = make_corpus(tmp_path / "c", [record_of(ONE), record_of(ONE, "opencl")])
    planted = keys_of(corpus)[0]
    with sqlite3.connect(corpus / "cache.db") as database:
        change = "UPDATE Cache SET value = ?, mode = 4 WHERE key = ?"
        database.execute(change, [pickle.dumps(Bomb()), planted])
    database.close()
    code, report, _ = replay(capsys, corpus)
    assert code == 1
    unreadable = [r["key"] for r in report["records"] if r["outcome"] == "unreadable"]
    assert unreadable == [planted]
    assert not (tmp_path / "exploded").exists()


def test_w7_and_w9_if_everything_changed_all_is_counted_on_one_screen(capsys, corpus, tmp_path):
    copy = patched(tmp_path / "copy", SPACING)
    words = ("run", "--corpus", corpus, "--verify", "none", "--determinism", "none")
    code, out, _ = run(capsys, *words, "--target", "llvm", "--only", "E_*", "--compiler", copy)
    assert code == 1
    assert "6 kernels changed in 1 way" in out
    assert "6 code = 6 records" in out
    assert out.count("\n") < 24


def test_w8_the_gate_is_a_file_that_says_what_is_wrong_with_it(capsys, corpus, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text('[tool.replay]\nallow = ["same", "codes"]\n')
    code, _, err = replay(capsys, corpus, "--policy", policy)
    assert code == 3
    assert f"policy {policy}: tool.replay.allow[1]: 'codes' is no outcome" in err


def test_w8_an_approval_lets_one_change_pass(capsys, corpus, tmp_path):
    copy = patched(tmp_path / "copy", SPACING)
    policy = tmp_path / "policy.toml"
    policy.touch()
    words = ("accept", "--corpus", corpus, "--policy", policy, "--compiler", copy, "--cluster", "1")
    code, _, err = run(capsys, *words, "--reason", "reads better")
    assert (code, err) == (0, "")
    code, report, _ = replay(capsys, corpus, "--compiler", copy, "--policy", policy)
    assert (code, report["totals"]["code"]) == (0, 6)


def test_w10_the_order_of_compiles_changes_no_record():
    texts = [ONE, ROW_SUMS.format(rows=3, columns=12, all=36)]
    forwards = [record_of(text) for text in texts]
    backwards = [record_of(text) for text in reversed(texts)]
    assert forwards == list(reversed(backwards))


def test_w10_a_failed_opt_leaves_nothing_behind():
    before = record_of(ONE)
    ast = parse_node(ONE)
    with pytest.raises(CompilerError, match="nope"):
        compile_kernel(ast, find_target("llvm"), opts=(Upcast("g0", 2), Upcast("nope", 2)))
    assert record_of(ONE) == before


def test_w11_options_are_part_of_the_question_and_the_toolchain_is_recorded(tmp_path):
    with observing(Observer([Link(Capture(str(tmp_path), str(tmp_path / "c")))], {})):
        ast = parse_node(DIFFERENCE.format(size=4096))
        compile_kernel(ast, find_target("llvm"))
        options = CompileOptions(schedule=ScheduleOptions(vector_lanes=4))
        compile_kernel(ast, find_target("llvm"), options)
    with open_reader(tmp_path / "c") as reader:
        items = [item.record for item in reader if isinstance(item, Stored)]
    assert sorted(item.options.get("schedule.vector_lanes", 16) for item in items) == [4, 16]
    assert all(item.provenance.toolchain["llvmlite"] for item in items)


def test_w12_vanished_and_new_kernels_are_seen(capsys, tmp_path):
    old = make_corpus(tmp_path / "old", [record_of(ONE)])
    new = make_corpus(tmp_path / "new", [record_of(ONE, "opencl")])
    code, report, _ = replay(capsys, old, "--fresh", new)
    assert code == 1
    assert (report["totals"]["new"], report["totals"]["missing"]) == (1, 1)


def test_w13_a_record_of_a_small_kernel_takes_less_than_two_kilobytes(capsys, corpus):
    _, out, _ = run(capsys, "corpus", "stat", "--corpus", corpus, "--json")
    assert json.loads(out)["mean_bytes"] < 2048


def test_w14_a_difference_names_the_pass_that_it_comes_from_and_how_to_see_it(capsys, tmp_path):
    corpus = make_corpus(tmp_path / "c", [record_of(ONE)])
    copy = patched(tmp_path / "copy", SWAP_SUB)
    code, report, _ = replay(capsys, corpus, "--compiler", copy, "--determinism", "changed")
    (record,) = report["records"]
    assert (code, record["stage"]) == (1, "render")
    words = record["more"].removeprefix("replay ").split()
    code, out, _ = run(capsys, *words, "--verify", "none")
    assert code == 1
    assert "\n-   %sub0 = fsub" in out


def test_w14_a_record_alone_reproduces_its_kernel(capsys, corpus, tmp_path):
    key = keys_of(corpus)[0]
    _, out, _ = run(capsys, "show", key, "--corpus", corpus, "--json")
    shown = json.loads(out)
    assert record_of(shown["ast"], shown["target"]["backend"]).source == shown["source"]


def test_w15_a_worker_that_dies_is_replaced_and_its_kernel_named(capsys, corpus, tmp_path):
    trap = before_compiling(
        "from compiler.ir import Op, toposort",
        "sizes = [node.attr[1] for node in toposort(ast) if node.op is Op.BUFFER]",
        "if sizes[0] == 4: import ctypes; ctypes.string_at(0)",
    )
    copy = patched(tmp_path / "copy", trap)
    code, report, _ = replay(capsys, corpus, "--compiler", copy)
    assert code == 1
    assert (report["totals"]["same"], report["totals"]["crash"]) == (14, 2)


def test_w16_progress_counts_records_and_never_passes_all(corpus):
    seen = []
    with open_reader(corpus) as reader:
        source = Source.every(reader)
        plan = Plan(crew=Crew(environ=os.environ))
        replay_records(source, plan, lambda what, done, total: seen.append((what, done, total)))
    assert seen
    assert all(done <= total for _, done, total in seen)
    assert ("compiling", 16, 16) in seen


@pytest.mark.parametrize("patch", [SWAP_SUB, SPACING], ids=["swap", "spacing"])
def test_w17_a_planted_change_is_found(capsys, corpus, tmp_path, patch):
    code, report, _ = replay(capsys, corpus, "--compiler", patched(tmp_path / "copy", patch))
    assert code == 1
    assert report["totals"]["code"] > 0


def test_w18_a_kernel_that_differs_with_itself_is_told_apart(capsys, tmp_path):
    corpus = make_corpus(tmp_path / "c", [record_of(ONE)])
    copy = patched(tmp_path / "copy", HASH_IN_THE_SOURCE)
    code, report, _ = replay(capsys, corpus, "--compiler", copy, "--determinism", "changed")
    assert (code, report["totals"]["nondeterministic"]) == (1, 1)


def test_every_row_of_the_document_has_a_test():
    document = (ROOT / "docs" / "baseline.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (W\d+) \|", document, re.MULTILINE)
    assert rows == [f"W{number}" for number in range(1, 19)]
    tests = [name for name in globals() if name.startswith("test_w")]
    covered = {found.upper() for name in tests for found in re.findall(r"w\d+", name)}
    assert set(rows) == covered
