"""The same question under the same opts owes the same bits on every backend."""

import json

import msgspec
import pytest
from programs import make_corpus, patched, run

from compiler import CompileOptions, compile_kernel, find_target, observing, parse_node
from corpus import open_reader
from replay.codec import finished_fields, started_record
from replay.outcome import Numerics, Outcome, Result
from replay.patched import Patch
from replay.phases.bits import compare_records
from replay.phases.plan import Replayed

SQUARES = """ir 1
%0 = BUFFER float32 slot=0 size=64
%1 = BUFFER float32 slot=1 size=64
%2 = LOAD float32 %1 view=[(64):(1)]
%3 = MUL float32 %2 %2
%4 = ADD float32 %3 %2
%5 = STORE void %0 %4 view=[(64):(1)]
%6 = SINK void %5 axes=(g0:64)
"""
PARSE = "module = llvm.parse_assembly(source)"
# Behind the source, so that the kernel is `same`: multiplications and additions become one.
CONTRACTED = Patch(
    "compiler/backends/llvm/compile.py",
    PARSE,
    "module = llvm.parse_assembly("
    "source.replace('fmul', 'fmul contract').replace('fadd', 'fadd contract'))",
)


def without_opts(backend):
    """A record of SQUARES for which the caller asked for no opts."""
    events = []
    with observing(events.append):
        compile_kernel(parse_node(SQUARES), find_target(backend), CompileOptions(), ())
    return msgspec.structs.replace(started_record(events[0]), **finished_fields(events[-1]))


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    records = [without_opts(backend) for backend in ("llvm", "opencl")]
    return make_corpus(tmp_path_factory.mktemp("pair") / "c", records)


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    return make_corpus(tmp_path_factory.mktemp("single") / "c", [without_opts("llvm")])


@pytest.fixture(scope="module")
def contracted(tmp_path_factory):
    return patched(tmp_path_factory.mktemp("copy") / "copy", CONTRACTED)


def verified(capsys, corpus, *options):
    """Exit code, kinds, reasons of numerics and notes of a replay that runs all kernels."""
    words = ("--verify", "all", "--determinism", "none", "--jobs", "1", "--report", "json:-")
    code, out, err = run(capsys, "run", "--corpus", corpus, *words, *options)
    assert out, err
    report = json.loads(out)
    records = report["records"]
    kinds = {f"{each['outcome']}/{each['numerics']}" for each in records}
    return code, kinds, {each["numerics_reason"] for each in records}, report["notes"]


def test_backends_that_give_the_same_bits_pass(capsys, pair):
    code, kinds, _, _ = verified(capsys, pair)
    assert (code, kinds) == (0, {"same/exact"})


def test_other_bits_are_wrong_on_both_sides_though_each_is_within_its_bound(
    capsys, pair, contracted
):
    code, kinds, reasons, _ = verified(capsys, pair, "--compiler", contracted)
    assert (code, kinds) == (1, {"same/wrong"})
    assert {reason.partition(" (")[0] for reason in reasons} == {
        "other bits than llvm/cpu",
        "other bits than opencl/opencl-1.2",
    }


def test_across_runs_a_kernel_where_it_was_not_recorded(capsys, single):
    code, kinds, _, notes = verified(capsys, single, "--across")
    assert (code, kinds) == (0, {"same/exact"})
    assert any(note.startswith("1 of 1 kernels were run on opencl/") for note in notes)


def test_across_finds_other_bits(capsys, single, contracted):
    code, kinds, (reason,), _ = verified(capsys, single, "--across", "--compiler", contracted)
    assert (code, kinds) == (1, {"same/wrong"})
    assert reason.startswith("other bits than opencl/")


def test_accepting_keeps_digests_by_which_other_bits_are_told(capsys, single, tmp_path, contracted):
    with open_reader(single) as reader:
        corpus = make_corpus(tmp_path / "c", [item.record for item in reader])
    words = ("--corpus", corpus, "--update", "--verify", "all", "--determinism", "none")
    code, out, _ = run(capsys, "accept", *words)
    assert (code, out.splitlines()[-1]) == (0, f"0 new baselines in {corpus}, numerics of 1 more")
    with open_reader(corpus) as reader:
        (item,) = reader
    assert item.record.numerics["verdict"] == "exact"
    assert len(item.record.numerics["digest"]) == 64
    _, out, _ = run(capsys, "show", item.key, "--corpus", corpus)
    assert f"numerics   digest {item.record.numerics['digest']}" in out
    assert (
        verified(capsys, corpus, "--compiler", contracted)[2]
        .pop()
        .endswith("; other bits than are recorded")
    )


def ran(key, digest, numerics=Numerics.EXACT, bits="question"):
    return Result(
        key=key,
        outcome=Outcome.SAME,
        target=f"t/{key}",
        numerics=numerics,
        digest=digest,
        bits=bits,
    )


@pytest.mark.parametrize(
    ("one", "other", "wrong"),
    [
        (ran("a", "1"), ran("b", "1"), []),
        (ran("a", "1"), ran("b", "2"), ["a", "b"]),
        (ran("a", "1"), ran("b", "2", bits="another"), []),
        (ran("a", "1", bits=None), ran("b", "2", bits=None), []),
        (ran("a", "1"), ran("b", "2", numerics=Numerics.WRONG), ["b"]),
        (ran("a", "1"), ran("b", "2", numerics=Numerics.SKIPPED), []),
    ],
)
def test_only_kernels_that_owe_the_same_bits_are_compared(one, other, wrong):
    found = Replayed({"a": one, "b": other})
    compare_records(found)
    results = found.ordered()
    assert [each.key for each in results if each.numerics is Numerics.WRONG] == wrong
