"""Scenarios that capture and replay tools are known to have got wrong."""

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from programs import (
    DIFFERENCE,
    ROW_SUMS,
    SWAP_SUB,
    keys_of,
    make_corpus,
    patched,
    record_of,
    run,
    small_corpus,
)

from compiler import Tensor, compile_kernel, find_target, parse_node
from compiler.options import CompileOptions
from corpus import Opt, key_of, open_reader

ROOT = Path(__file__).parents[2]
REPLAY = (sys.executable, "-m", "replay.cli")


def capture(corpus, program, *words, env=None):
    command = (*REPLAY, "capture", "--corpus", corpus, "--", sys.executable, "-c", program, *words)
    return subprocess.run(
        [str(word) for word in command],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


SUMS = f"""
import gc, sys
from compiler import compile_kernel, find_target, parse_node
for n in range(1, int(sys.argv[1]) + 1):
    compile_kernel(parse_node({ROW_SUMS!r}.format(rows=1, columns=n, all=n)), find_target("llvm"))
    gc.collect(0)
"""


# --- an object's address is no key ---


def test_as_many_kernels_as_were_compiled_are_kept_by_one_process_and_by_four(tmp_path):
    capture(tmp_path / "c", SUMS, 60)
    once = keys_of(tmp_path / "c")
    assert len(once) == 60
    four = f"import subprocess, sys\nps = [subprocess.Popen([sys.executable, '-c', {SUMS!r}, '60'])"
    four += " for _ in range(4)]\n[p.wait() for p in ps]"
    capture(tmp_path / "c", four)
    assert keys_of(tmp_path / "c") == once


# --- nothing depends on hashes or on history ---


BUILDER = f"""
from compiler import compile_kernel, find_target, parse_node
for size in (2, 3, 64):
    for backend in ("llvm", "opencl"):
        compile_kernel(parse_node({DIFFERENCE!r}.format(size=size)), find_target(backend))
"""


def test_five_hash_seeds_give_one_corpus(capsys, tmp_path):
    seeds = ("0", "1", "2", "3", "random")
    for seed in seeds:
        capture(tmp_path / seed, BUILDER, env={"PYTHONHASHSEED": seed})
    digests = {digest_of(tmp_path / seed) for seed in seeds}
    assert len(digests) == 1
    for old in seeds:
        words = ("run", "--corpus", tmp_path / old, "--fresh", tmp_path / seeds[0])
        code, out, _ = run(capsys, *words)
        assert (code, "6 same = 6 records" in out) == (0, True)


def digest_of(corpus):
    """Of every (name, source, key)."""
    found = hashlib.sha256()
    with open_reader(corpus) as reader:
        for item in reader:
            found.update(f"{item.record.name}\n{item.record.source}\n{item.key}\n".encode())
    return found.hexdigest()


def test_kernels_of_one_shape_have_names_of_their_own_and_keep_them():
    names = [record_of(text).name for text in (DIFFERENCE.format(size=8), sum_of_two(8))]
    assert len(set(names)) == 2
    assert names == [record_of(text).name for text in (DIFFERENCE.format(size=8), sum_of_two(8))]


def sum_of_two(size):
    return DIFFERENCE.format(size=size).replace("SUB", "ADD")


# --- a corpus that cannot be written, and one that may not be ---


SUM = """
import numpy as np
from compiler import Tensor
x = np.arange(1000, dtype=np.float32)
print((Tensor(x) * 2 + 1).sum().numpy())
"""


def test_a_disk_that_fills_up_costs_records_and_not_the_result(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    try:
        done = capture(small / "c", SUM)
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)
    wanted = (np.arange(1000, dtype=np.float64) * 2 + 1).sum()
    assert float(done.stdout) == pytest.approx(wanted, rel=1e-6)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert str(small) in done.stderr


def test_replay_of_a_corpus_in_a_read_only_place_changes_nothing_in_it(capsys, tmp_path):
    corpus = small_corpus(tmp_path / "c")
    writable = run(capsys, "run", "--corpus", corpus, "--verify", "none", "--report", "json:-")
    place = shutil.copytree(corpus, tmp_path / "read-only")
    before = contents(place)
    for path in (*place.iterdir(), place):
        path.chmod(0o555 if path.is_dir() else 0o444)
    code, out, _ = run(capsys, "run", "--corpus", place, "--verify", "none", "--report", "json:-")
    assert code == 0
    assert contents(place) == before
    assert json.loads(out)["records"] == [
        record | {"more": record["more"].replace(str(corpus), str(place))}
        for record in json.loads(writable[1])["records"]
    ]


def contents(directory):
    return {path.name: hashlib.sha256(path.read_bytes()).digest() for path in directory.iterdir()}


# --- every record is accounted for ---


@pytest.fixture(scope="module")
def skewed(tmp_path_factory):
    """Records of every kind of skew: unchanged, changed, unknown opt, unknown kind, cut short."""
    whole = [record_of(ROW_SUMS.format(rows=1, columns=n, all=n)) for n in range(2, 42)]
    changed = [record_of(DIFFERENCE.format(size=n)) for n in range(2, 6)]
    opt = [
        msgspec.structs.replace(record, applied=(Opt("STRETCH", {"axis": "g0", "amount": 2}),))
        for record in variants(2)
    ]
    kind = [msgspec.structs.replace(record, kind="oldpkg") for record in variants(4)[2:]]
    path = tmp_path_factory.mktemp("skewed") / "c"
    cut = [record_of(ROW_SUMS.format(rows=5, columns=n, all=5 * n)) for n in range(2, 5)]
    make_corpus(path, [*whole, *changed, *opt, *kind, *cut])
    cut_short = "UPDATE Cache SET value = substr(value, 1, length(value) / 2) WHERE key = ?"
    with sqlite3.connect(path / "cache.db") as database:
        database.executemany(cut_short, [(key_of(record),) for record in cut])
    database.close()
    return path


def variants(count):
    return [record_of(ROW_SUMS.format(rows=7, columns=n, all=7 * n)) for n in range(2, 2 + count)]


SKEWED = {"same": 40, "code": 4, "error": 2, "unreadable": 5}


@pytest.mark.parametrize("jobs", [1, 3])
def test_every_record_is_in_one_bucket_for_any_number_of_workers(capsys, tmp_path, skewed, jobs):
    copy = patched(tmp_path / "copy", SWAP_SUB)
    code, report = report_of(capsys, skewed, "--compiler", copy, "--jobs", jobs)
    assert (code, buckets(report)) == (1, SKEWED)
    assert [record["key"] for record in report["records"]] == keys_of(skewed)


def test_a_limit_of_changes_leaves_the_rest_skipped_and_does_not_pass(capsys, tmp_path, skewed):
    copy = patched(tmp_path / "copy", SWAP_SUB)
    code, report = report_of(capsys, skewed, "--compiler", copy, "--max-changes", 1)
    counts = buckets(report)
    assert code == 1
    assert counts["skipped"] > 0
    assert sum(counts.values()) == 51
    assert any("stopped after 1 changes" in (r["reason"] or "") for r in report["records"])


def report_of(capsys, corpus, *options):
    words = ("run", "--corpus", corpus, "--verify", "none", "--determinism", "none")
    code, out, _ = run(capsys, *words, "--report", "json:-", *options)
    return code, json.loads(out)


def buckets(report):
    counts = {name: count for name, count in report["totals"].items() if count}
    assert counts.pop("records") == sum(counts.values())
    return counts


# --- names that are no file names ---


NAMES = ("n" * 300, "a/b", "../x", "K", "k", "", "naïve ☃", "\x1b[31mred\x1b[0m")


def named(name):
    options = CompileOptions(name=name)
    compiled = compile_kernel(parse_node(DIFFERENCE.format(size=4)), find_target("llvm"), options)
    return msgspec.structs.replace(
        record_of(DIFFERENCE.format(size=4)),
        options={"name": name},
        name=compiled.program.name,
        source=compiled.program.source,
    )


def test_any_name_survives_export_and_import(capsys, tmp_path):
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    corpus = make_corpus(deep / "c", [named(name) for name in NAMES])
    for form in ("archive.kr", "text.txt"):
        assert run(capsys, "corpus", "export", deep / form, "--corpus", corpus)[0] == 0
        copy = deep / f"from-{form}"
        assert run(capsys, "corpus", "import", deep / form, "--corpus", copy)[0] == 0
        with open_reader(copy) as reader:
            found = sorted(item.record.options["name"] for item in reader)
        assert found == sorted(NAMES)
    assert {path.name for path in deep.iterdir()} == {
        "c", "archive.kr", "text.txt", "from-archive.kr", "from-text.txt",
    }  # fmt: skip


def test_names_with_escape_sequences_do_not_reach_the_terminal(capsys, tmp_path):
    corpus = make_corpus(tmp_path / "c", [named(NAMES[-1])])
    for words in (("list",), ("show", keys_of(corpus)[0])):
        _, out, _ = run(capsys, *words, "--corpus", corpus)
        assert "\x1b" not in out


# --- names that are reserved ---


RESERVED = ("global", "kernel", "half", "float4", "abs", "main", "if", "2fast", "a b", "")


def test_reserved_names_replay_and_are_shown_as_they_were_given(capsys, tmp_path):
    corpus = make_corpus(tmp_path / "c", [named(name) for name in RESERVED])
    code, report = report_of(capsys, corpus)
    assert (code, buckets(report)) == (0, {"same": len(RESERVED)})
    with open_reader(corpus) as reader:
        names = sorted(item.record.options["name"] for item in reader)
    assert names == sorted(RESERVED)


def test_names_that_map_alike_stay_two_kernels(tmp_path):
    corpus = make_corpus(tmp_path / "c", [named("a b"), named("a/b")])
    assert len(keys_of(corpus)) == 2


def test_a_tensor_program_computes_the_same_under_capture(tmp_path):
    done = capture(tmp_path / "c", SUM)
    assert done.returncode == 0
    assert float(done.stdout) == float((Tensor(np.arange(1000, dtype="f4")) * 2 + 1).sum().numpy())
