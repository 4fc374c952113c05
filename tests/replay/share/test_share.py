"""`replay corpus export --share`: the same kernels, and nothing by which to know their owner."""

import json
import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler import CompileOptions, CompileStarted, compile_kernel, find_target, parse_node
from compiler.kernel import parse_opts
from corpus import (
    KernelRecord,
    Opt,
    Provenance,
    Status,
    Stored,
    Target,
    open_reader,
    open_writer,
)
from replay.baseline import answered
from replay.cli import main
from replay.codec import artefact_of, started_record
from replay.share.names import names_in
from replay.share.question import Stripped, call, read, strip
from replay.subject import Detail

AST = """ir 1
%0 = BUFFER float32 slot=0 size=64
%1 = BUFFER float32 slot=1 size=4096
%2 = LOAD float32 %1 view=[(64,64):(64,1)]
%3 = CONST float32 value={scale} view=none
%4 = MUL float32 %2 %3
%5 = REDUCE float32 %4 op=ADD axes=({inner})
%6 = CONST float32 value=-inf view=none
%7 = MAX float32 %5 %6
%8 = STORE void %0 %7 view=[(64,64):(1,0)]
%9 = SINK void %8 axes=({outer}:64,{inner}:64)
"""
SYMBOLIC = """ir 1
%0 = VAR int64 name={variable} lo=1 hi=64
%1 = BUFFER int32 slot=0 size=%0
%2 = BUFFER int32 slot=1 size=%0
%3 = LOAD int32 %2 view=[(%0):(1)]
%4 = CONST int32 value={number} view=none
%5 = XOR int32 %3 %4
%6 = STORE void %1 %5 view=[(%0):(1)]
%7 = SINK void %6 axes=(g0:%0)
"""
SECRETS = {
    "variable": "hush_variable",
    "kernel": "hush_kernel",
    "axis": "hush_axis",
    "float": (0.7312345).hex(),
    "int": "1234567891",
}


def ast(scale=SECRETS["float"], outer="g0", inner="r0"):
    return AST.format(scale=scale, outer=outer, inner=inner)


def record(text, *, opts=None, applied=None, name=None, backend="llvm", test=None):
    """A record as a capture makes it."""
    node, target = parse_node(text), find_target(backend)
    options = CompileOptions(name=name)
    requested = None if opts is None else parse_opts(opts)
    made = started_record(CompileStarted(node, target, options, requested))
    compiled = compile_kernel(node, target, options, parse_opts(applied) if applied else requested)
    made = answered(made, artefact_of(compiled, Detail.STAGES))
    return msgspec.structs.replace(made, provenance=Provenance(test_id=test))


def planted():
    """A record with something secret in every field that takes free text."""
    whole = record(
        ast(outer="hush_axis", inner="hush.i"), opts="UPCAST hush_axis 4", name="hush_kernel"
    )
    return msgspec.structs.replace(
        whole,
        target=Target("llvm", whole.target.profile, {"hush_capability": "hush_value"}),
        source=f"; hush_comment {whole.source}",
        stages=(("hush_stage", "hush_digest"),),
        numerics={"hush_numerics": "hush_digest"},
        rewrites=7312345,
        extra={"hush_field": msgspec.msgpack.encode("hush_extra")},
        provenance=Provenance(
            revision="hush_revision",
            dirty=True,
            toolchain={"hush_tool": "hush_version"},
            test_id="tests/hush_test.py::test[hush]",
            call_site="hush/project.py:12",
            tensor_op="hush_op",
            captured_at="hush_time",
            occurrences=3,
        ),
    )


def failed():
    question = started_record(
        CompileStarted(
            parse_node(ast(outer="hush_axis")), find_target("llvm"), CompileOptions(), ()
        )
    )
    return msgspec.structs.replace(
        question,
        requested=(Opt("UPCAST", {"axis": "hush_axis.i", "amount": 7}),),
        status=Status.FAILED,
        error="opt UPCAST hush_axis.i 7: hush",
    )


def written(tmp_path, *records):
    with open_writer(tmp_path / "own") as writer:
        for each in records:
            writer.add(each)
    return tmp_path / "own"


def share(tmp_path, *records, to="shared.krc", code=0):
    corpus = written(tmp_path, *records)
    target = tmp_path / to
    arguments = ["corpus", "export", str(target), "--corpus", str(corpus), "--share", "--jobs", "1"]
    assert main(arguments) == code
    return target


def read_all(path):
    with open_reader(path) as reader:
        items = list(reader)
    assert all(isinstance(item, Stored) for item in items)
    return items


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """An archive of all that is secret in one corpus."""
    variable = record(SYMBOLIC.format(variable=SECRETS["variable"], number=SECRETS["int"]))
    opencl = record(ast(), backend="opencl", test="tests/hush_other.py::test_it")
    return share(tmp_path_factory.mktemp("share"), planted(), failed(), variable, opencl)


def test_no_secret_is_anywhere_in_a_shared_archive(shared, tmp_path):
    assert main(["corpus", "export", str(tmp_path / "as.txt"), "--corpus", str(shared)]) == 0
    found = (tmp_path / "as.txt").read_text() + shared.read_bytes().decode("latin1")
    found += msgspec.json.encode([item.record for item in read_all(shared)]).decode()
    numbers = ("7312345", SECRETS["int"], hex(int(SECRETS["int"])), SECRETS["float"])
    assert len(read_all(shared)) == 4
    assert "hush" not in found.lower()
    assert [number for number in numbers if number in found] == []


def test_a_shared_corpus_replays_the_same(shared, tmp_path):
    report = tmp_path / "report.json"
    arguments = ["run", "--corpus", str(shared), "--no-skip", "--jobs", "1"]
    assert main([*arguments, "--report", f"json:{report}"]) == 0
    totals = json.loads(report.read_text())["totals"]
    assert (totals["records"], totals["same"]) == (4, 4)


def test_opts_axes_and_counts_stay(shared):
    upcast = next(item.record for item in read_all(shared) if item.record.options.get("name"))
    assert upcast.requested == (Opt("UPCAST", {"axis": "g0", "amount": 4}),)
    assert "axes=(g0:64,r0:64)" in upcast.ast
    assert upcast.provenance == Provenance(test_id="test1", occurrences=3)
    assert upcast.options["name"] == "kernel0"


def test_a_failed_compile_fails_in_words_of_the_shared_names(shared):
    (failure,) = [i.record for i in read_all(shared) if i.record.status is Status.FAILED]
    assert "g0.i" in failure.error


def test_infinities_and_shapes_stay(shared):
    texts = [item.record.ast for item in read_all(shared)]
    assert sum("value=-inf" in text and "(64,64):(64,1)" in text for text in texts) == 3


def test_sharing_what_is_shared_changes_no_byte(shared, tmp_path):
    again = tmp_path / "again.krc"
    arguments = ["corpus", "export", str(again), "--corpus", str(shared), "--share"]
    assert main([*arguments, "--jobs", "1"]) == 0
    assert again.read_bytes() == shared.read_bytes()


def test_kernels_that_differ_in_a_constant_become_one_that_counts_for_both(tmp_path, capsys):
    one, other = record(ast(scale=(0.6).hex())), record(ast(scale=(0.7).hex()))
    (item,) = read_all(share(tmp_path, one, other))
    assert item.record.provenance.occurrences == 2
    assert "1 more became equal" in capsys.readouterr().out


def test_a_record_of_another_kind_is_left_out_by_name(tmp_path, capsys):
    foreign = KernelRecord(kind="hush", ast="hush", target=Target("hush", "hush"))
    target = share(tmp_path, foreign, record(ast()), code=1)
    assert len(read_all(target)) == 1
    assert "left out" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change",
    [
        {"options": {"schedule.core": "hush"}},
        {"options": {"hush": 1}},
        {"requested": (Opt("UPCAST", {"axis": "hush", "amount": 4}),)},
        {"requested": (Opt("TC", {"core": "hush", "columns": "g0", "rows": "g0", "terms": "r0"}),)},
        {"applied": (Opt("hush", {}),)},
        {"target": Target("llvm", "hush")},
        {"ast": "ir 1\n%0 = RANGE int32 name=hush kind=GLOBAL\n"},
    ],
)
def test_a_word_that_is_not_the_compilers_is_never_shared(change):
    odd = msgspec.structs.replace(record(ast()), **change)
    assert not isinstance(stripped(odd), KernelRecord)


def test_a_question_whose_compile_never_ended_stays_a_question(tmp_path):
    asked = CompileStarted(parse_node(ast()), find_target("llvm"), CompileOptions(), None)
    reply = read(strip(call(started_record(asked), names_in(()), compiles=False).payload))
    assert isinstance(reply, Stripped)
    assert (reply.record.status, reply.record.source) == (Status.STARTED, None)


def stripped(one):
    reply = read(strip(call(one, names_in([one])).payload))
    return reply.record if isinstance(reply, Stripped) else reply


words = st.from_regex(re.compile(r"[a-z_][A-Za-z0-9_]{0,12}"), fullmatch=True)


@settings(max_examples=8, deadline=None)
@given(words, words, st.floats(0.5, 1, exclude_min=True, exclude_max=True, width=32), words)
def test_what_is_secret_changes_nothing(name, axis, scale, test):
    """Two kernels that differ in names, and in constants between the same landmarks."""
    if axis == "r0":
        axis = "axis"
    ours = record(ast(scale=scale.hex(), outer=axis), name=name, test=test)
    theirs = record(ast(scale=(0.75).hex()), name="kernel0", test="test0")
    assert stripped(ours) == stripped(theirs)


@settings(max_examples=10, deadline=None)
@given(words, st.integers(2**20 + 1, 2**21 - 2))
def test_a_secret_variable_or_integer_changes_nothing(name, number):
    ours = record(SYMBOLIC.format(variable=name, number=number))
    theirs = record(SYMBOLIC.format(variable="v0", number=2**20 + 2**19))
    assert stripped(ours) == stripped(theirs)


def test_what_an_offset_is_computed_from_stays():
    text = """ir 1
%0 = BUFFER float32 slot=0 size=64
%1 = BUFFER float32 slot=1 size=64000
%2 = BUFFER int64 slot=2 size=64
%3 = LOAD int64 %2 view=[(64):(1)]
%4 = CONST int64 value=1000 view=none
%5 = MUL int64 %3 %4
%6 = GATHER float32 %1 %5
%7 = STORE void %0 %6 view=[(64):(1)]
%8 = SINK void %7 axes=(g0:64)
"""
    assert stripped(record(text)).ast == text


def test_variables_keep_their_order():
    names = names_in([record(SYMBOLIC.format(variable=f"x{i}", number=1)) for i in range(12)])
    assert list(names.variables) == sorted(names.variables)
    assert list(names.variables.values()) == sorted(names.variables.values())
    assert names.variables["x0"] == "v00"


def test_a_place_that_cannot_be_written_is_said_at_once(tmp_path, capsys):
    share(tmp_path, record(ast()), to="nowhere/shared.krc", code=2)
    assert "no directory" in capsys.readouterr().err
