"""A key names the question, the whole question, and nothing but the question."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest

from corpus import (
    Estimates,
    InvalidRecordError,
    KernelRecord,
    Opt,
    Provenance,
    Status,
    Target,
    is_key,
    key_of,
)


def test_the_canonical_question_is_the_same_for_ever():
    record = KernelRecord(
        kind="k",
        ast="a\n\N{SNOWMAN}",
        target=Target("llvm", "x86-64-v3"),
        options={"math": "native", "beam": 2, "ratio": 0.5, "fma": False, "limit": None},
        requested=(Opt("Upcast", {"axis": "g0"}), Opt("NoLocals")),
    )
    question = """question 1
text 4 llvm
text 9 x86-64-v3
map 5
text 4 beam
int 2
text 3 fma
bool false
text 5 limit
none
text 4 math
text 6 native
text 5 ratio
float 0x1.0000000000000p-1
fixed 2
text 6 Upcast
map 1
text 4 axis
text 2 g0
text 8 NoLocals
map 0
text 3 a
\N{SNOWMAN}"""
    assert key_of(record) == hashlib.sha256(question.encode()).hexdigest()


def test_a_free_question_is_the_same_for_ever():
    record = KernelRecord(kind="k", ast="a", target=Target("b", "c"))
    assert key_of(record) == "c2bd77f66babfd77de63ea429f707a47ebd9e6e5509205572877a7e07aecb6d9"


@pytest.mark.parametrize(
    "change",
    [
        {"ast": "another"},
        {"target": Target("opencl", "x86-64-v3")},
        {"target": Target("llvm", "x86-64-v4")},
        {"options": {"math.fma": False}},
        {"options": {"math.fma": 1}},
        {"options": {"math.fma": 1.0}},
        {"options": {"math.fma": "True"}},
        {"options": {"math.fma": None}},
        {"options": {}},
        {"requested": ()},
        {"requested": (Opt("Upcast"),)},
        {"requested": (Opt("Upcast", {"axis": "g0"}),)},
    ],
)
def test_whatever_belongs_to_the_question_changes_the_key(make_record, change):
    assert key_of(make_record(**change)) != key_of(make_record())


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "another"},
        {"target": Target("llvm", "x86-64-v3", {"fp16": True})},
        {"applied": None},
        {"name": "other"},
        {"source": None},
        {"stages": ()},
        {"launch": None},
        {"arguments": ()},
        {"estimates": Estimates(1, 1)},
        {"rewrites": 99},
        {"numerics": {"seed": 1}},
        {"status": Status.FAILED, "error": "no such opt"},
        {"provenance": Provenance(revision="deadbeef", occurrences=7)},
    ],
)
def test_whatever_belongs_to_the_answer_leaves_the_key(make_record, change):
    assert key_of(make_record(**change)) == key_of(make_record())


def test_the_order_of_options_leaves_the_key_and_that_of_opts_changes_it(make_record):
    one, two = Opt("Upcast", {"a": 1, "b": 2}), Opt("Local", {"a": 1})
    assert key_of(make_record(options={"a": 1, "b": 2})) == key_of(
        make_record(options={"b": 2, "a": 1})
    )
    assert key_of(make_record(requested=(one, two))) != key_of(make_record(requested=(two, one)))


def test_text_that_looks_like_structure_does_not_collide():
    def key(profile: str, name: str, ast: str) -> str:
        target = Target("llvm", profile)
        return key_of(KernelRecord(kind="k", ast=ast, target=target, options={name: 1}))

    assert len({key("x", "a", "b"), key("x\ntext 1 a", "b", "c"), key("x", "a\nint 1", "b")}) == 3


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**64, -(2**63) - 1, (1, 2), b"x"])
def test_a_value_with_no_one_text_is_refused(make_record, value):
    with pytest.raises(InvalidRecordError, match=r"^record: size: .*; store it as text$"):
        key_of(make_record(options={"size": value}))


def test_text_that_is_not_unicode_is_refused(make_record):
    with pytest.raises(InvalidRecordError, match="not valid Unicode"):
        key_of(make_record(ast="\ud800"))


def test_the_key_depends_on_no_hash_seed():
    program = """
from corpus import KernelRecord, Opt, Target, key_of
options = {name: 1 for name in {"a", "bb", "ccc", "dddd", "eeeee"}}
opts = (Opt("Upcast", {name: 1 for name in {"axis", "amount", "side"}}),)
record = KernelRecord(kind="k", ast="a", target=Target("x", "y"), options=options, requested=opts)
print(key_of(record))
"""
    keys = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "random")
    }
    assert len(keys) == 1


@pytest.mark.parametrize(
    "text", ["", "abc", "g" * 64, "A" * 64, "a" * 63, "a" * 65, "a" * 64 + "\n"]
)
def test_only_64_lower_case_hex_digits_are_a_key(text):
    assert not is_key(text)
    assert is_key("0123456789abcdef" * 4)
