"""Records of every schema so far are readable for ever, and mean what they meant."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from corpus import (
    SCHEMA,
    Argument,
    ArgumentKind,
    Estimates,
    Form,
    KernelRecord,
    Launch,
    Opt,
    Provenance,
    Status,
    Stored,
    Target,
    export_corpus,
    key_of,
    open_reader,
)

SAMPLES = Path(__file__).parent / "samples"
FROZEN = {
    "schema-1.corpus": "67e32e813509115ac60dae0fa9b6416bb3d7a1169e08a9a13259594f03a7e994",
    "schema-1-dict-1.corpus": "9789f91f9357455452df4b375961fd8ca512470e79ef3a63ae99ccf4afca68b7",
    "schema-1-dict-2.corpus": "89d7763307c1c6ed8a81e5e7c2fc49c61ed407b3c7abf3d13894b6e97eb80601",
    "schema-1.txt": "ecc4886b7087b8e3087c7d0b123b84f593da8dfe936cdcf39733e0f178806822",
}
LLVM = Target("llvm", "x86-64-v3", {"fp16": False, "simd_bytes": 32, "vendor": None})
OPTS = (Opt("Upcast", {"axis": "g0", "amount": 4}), Opt("NoLocals"))
RECORDS = (
    KernelRecord(
        kind="kernel-replay",
        ast="kernel v1\n",
        target=Target("opencl", "pocl"),
        requested=(),
        status=Status.FAILED,
        error="upcast r0: needs an output axis, r0 is REDUCE",
    ),
    KernelRecord(
        kind="kernel-replay",
        ast="kernel v1\n",
        target=LLVM,
        status=Status.STARTED,
        extra={"mood": b"\x92\x01\xc0", "provenance/host": b"\xa1x"},
    ),
    KernelRecord(
        kind="kernel-replay",
        ast="kernel v1\n%0 = const float32 1.0\n",
        target=LLVM,
        options={"math.fma": True, "schedule.ratio": 0.5},
        requested=OPTS,
        applied=OPTS,
        name="e_4",
        source="define void @e_4() {\n  ret void\n}\n",
        stages=(("group", "0123456789abcdef"), ("linearize", "fedcba9876543210")),
        launch=Launch((8, "n"), (1, 4)),
        arguments=(
            Argument("out0", "float32", 32, ArgumentKind.OUT),
            Argument("in0", "float16", "4*n", ArgumentKind.IN),
            Argument("acc", "int32", 1, ArgumentKind.INOUT),
            Argument("n", "int64", 1, ArgumentKind.VAR),
        ),
        estimates=Estimates(64, "4*n"),
        rewrites=12,
        numerics={"seed": 7, "out0": "c0ffee"},
        provenance=Provenance(
            revision="8c8b8e8",
            dirty=True,
            toolchain={"llvmlite": "0.50.0"},
            test_id="tests/a.py::a[1]",
            call_site="a.py:3",
            tensor_op="sum",
            captured_at="2025-12-01T21:44:00Z",
            occurrences=3,
        ),
    ),
)


@pytest.mark.parametrize("name", sorted(FROZEN))
def test_a_sample_is_never_written_again(name):
    assert hashlib.sha256((SAMPLES / name).read_bytes()).hexdigest() == FROZEN[name]


@pytest.mark.parametrize("name", sorted(FROZEN))
def test_a_sample_reads_as_what_was_written(name):
    with open_reader(SAMPLES / name) as reader:
        assert (reader.lost, reader.why_damaged()) == (1, ())
        assert list(reader) == [Stored(key_of(record), record) for record in RECORDS]


def test_every_schema_has_its_samples():
    for schema in range(1, SCHEMA + 1):
        assert {f"schema-{schema}.corpus", f"schema-{schema}.txt"} <= set(FROZEN)


def test_the_text_of_the_newest_schema_is_written_as_it_was(tmp_path):
    with open_reader(SAMPLES / f"schema-{SCHEMA}.corpus") as reader:
        export_corpus(reader, tmp_path / "text", form=Form.TEXT)
    newest = SAMPLES / f"schema-{SCHEMA}.txt"
    assert (tmp_path / "text").read_bytes() == newest.read_bytes()
