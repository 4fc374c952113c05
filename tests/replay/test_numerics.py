"""What `replay run --verify` finds, through the command line."""

import json

import pytest
from programs import (
    DIFFERENCE,
    RENAME,
    RENDER,
    ROW_SUMS,
    SWAP_SUB,
    make_corpus,
    patched,
    record_of,
    run,
)

from replay.patched import Patch

PARSE = "module = llvm.parse_assembly(source)"


def before_parsing(change):
    """A patch behind the source: what LLVM parses is another text."""
    return Patch(
        "compiler/backends/llvm/compile.py", PARSE, f"module = llvm.parse_assembly(source{change})"
    )


DIFFERENT_MACHINE_CODE = before_parsing(".replace('fsub', 'fadd')")
SEGFAULT_AT_RUN = before_parsing(".replace(', ptr %data2', ', ptr null')")
LOST_LAST_STORE = Patch(
    "compiler/compile.py",
    RENDER,
    f"{RENDER}\n"
    "    lines = source.splitlines()\n"
    "    stores = [n for n, line in enumerate(lines) if 'store' in line or 'data0[' in line]\n"
    "    source = '\\n'.join(line for n, line in enumerate(lines) if n != stores[-1])",
)
SPACED = Patch(
    "compiler/compile.py",
    RENDER,
    f"{RENDER}\n    source = source.replace(';', ' ;').replace(' =', '   =')",
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    texts = [DIFFERENCE.format(size=5), ROW_SUMS.format(rows=3, columns=12, all=36)]
    records = [record_of(text, backend) for text in texts for backend in ("llvm", "opencl")]
    return make_corpus(tmp_path_factory.mktemp("corpora") / "c", records)


def verify(capsys, corpus, verify, *options):
    """Exit code and (target, outcome, numerics, reason) by key."""
    words = ("run", "--corpus", corpus, "--report", "json:-", "--verify", verify)
    code, out, _ = run(capsys, *words, "--determinism", "none", "--jobs", "1", *options)
    return code, [
        (r["target"], r["outcome"], r["numerics"], r["numerics_reason"])
        for r in json.loads(out)["records"]
    ]


def test_unchanged_kernels_are_right(capsys, corpus):
    code, results = verify(capsys, corpus, "all")
    assert code == 0
    assert {numerics for _, _, numerics, _ in results} <= {"exact", "bounded"}


def test_a_renamed_kernel_is_exact(capsys, corpus, tmp_path):
    copy = patched(tmp_path / "copy", RENAME)
    code, results = verify(capsys, corpus, "changed", "--compiler", copy, "--target", "llvm")
    assert (code, sorted((o, n) for _, o, n, _ in results)) == (
        0,
        [("renamed", "exact"), ("same", None)],
    )


def test_other_spacing_is_run_once_and_grows_nothing(capsys, corpus, tmp_path):
    copy = patched(tmp_path / "copy", SPACED)
    words = ("run", "--corpus", corpus, "--compiler", copy, "--determinism", "none")
    _, out, _ = run(capsys, *words, "--jobs", "1", "--report", "json:-")
    document = json.loads(out)
    told = {(r["outcome"], r["numerics"], r["beside"]) for r in document["records"]}
    assert told == {("code", "exact", "text")}
    assert document["beside"] == {"text": 4}
    assert not any(metric["lost"] or metric["affected"] for metric in document["metrics"])


@pytest.mark.parametrize(("patch", "expected"), [(RENAME, "equal"), (SWAP_SUB, "differs")])
def test_machine_code_is_compared_where_it_can_be_seen(capsys, corpus, tmp_path, patch, expected):
    copy = patched(tmp_path / "copy", patch)
    words = ("run", "--corpus", corpus, "--report", "json:-", "--determinism", "none")
    _, out, _ = run(capsys, *words, "--compiler", copy, "--target", "llvm", "--only", "E_*")
    assert [record["machine_code"] for record in json.loads(out)["records"]] == [expected]


def test_a_swapped_operand_is_wrong(capsys, corpus, tmp_path):
    copy = patched(tmp_path / "copy", SWAP_SUB)
    code, results = verify(capsys, corpus, "changed", "--compiler", copy)
    assert code == 1
    assert [(t, o, n) for t, o, n, _ in results if o != "same"] == [("llvm/cpu", "code", "wrong")]


def test_a_lost_store_is_wrong_on_both_backends(capsys, corpus, tmp_path):
    copy = patched(tmp_path / "copy", LOST_LAST_STORE)
    code, results = verify(capsys, corpus, "changed", "--compiler", copy)
    assert code == 1
    assert {(o, n) for _, o, n, _ in results} == {("code", "wrong")}


def test_a_fault_behind_an_unchanged_source_is_found_when_all_are_verified(
    capsys, corpus, tmp_path
):
    copy = patched(tmp_path / "copy", DIFFERENT_MACHINE_CODE)
    code, results = verify(capsys, corpus, "changed", "--compiler", copy)
    assert code == 0
    code, results = verify(capsys, corpus, "all", "--compiler", copy)
    assert code == 1
    assert [(t, o, n) for t, o, n, _ in results if n == "wrong"] == [("llvm/cpu", "same", "wrong")]


def test_a_kernel_that_segfaults_when_it_runs_is_wrong_and_alone(capsys, corpus, tmp_path):
    copy = patched(tmp_path / "copy", SEGFAULT_AT_RUN)
    code, results = verify(capsys, corpus, "all", "--compiler", copy)
    assert code == 1
    wrong = [(t, reason) for t, _, n, reason in results if n == "wrong"]
    assert wrong == [("llvm/cpu", "running it ends in signal 11 (SIGSEGV)")]


SPOILT = {
    "wrong": ("] - data2", "] + data2"),
    "segfault": ("data0[group0] =", "((__global float *)64)[group0] ="),
}


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("wrong", "of 5 wrong"),
        pytest.param("segfault", "signal 11 (SIGSEGV)", marks=pytest.mark.slow),
    ],
)
def test_one_bad_kernel_of_a_batch_is_wrong_and_alone(capsys, tmp_path, how, reason):
    records = [record_of(DIFFERENCE.format(size=n), "opencl") for n in (5, 6, 7, 9)]
    corpus = make_corpus(tmp_path / "c", records)
    before, after = SPOILT[how]
    spoil = f"source = source.replace({before!r}, {after!r}) if name == {records[0].name!r} else"
    change = Patch("compiler/compile.py", RENDER, f"{RENDER}\n    {spoil} source + '//'")
    copy = patched(tmp_path / "copy", change)
    _, results = verify(capsys, corpus, "changed", "--compiler", copy)
    assert sorted(n for _, _, n, _ in results) == ["exact", "exact", "exact", "wrong"]
    assert [reason in told for _, _, n, told in results if n == "wrong"] == [True]


def test_without_a_device_a_kernel_is_skipped_and_says_why(capsys, corpus, tmp_path):
    closed = Patch(
        "compiler/backends/__init__.py",
        "    backend = find_backend(name)\n",
        "    from compiler.errors import DeviceError\n    raise DeviceError('no device')\n"
        "    backend = find_backend(name)\n",
    )
    copy = patched(tmp_path / "copy", closed)
    code, results = verify(capsys, corpus, "all", "--compiler", copy)
    assert code == 0
    assert {(n, reason) for _, _, n, reason in results} == {("skipped", "no device")}


MISBEHAVE = {
    "abort": "__import__('os').abort()",
    "spin": "[None for _ in iter(int, 1)]",
    "segfault": "__import__('ctypes').string_at(0)",
    "allocate": "bytearray(1 << 40)",
}
BUILDS = {
    "llvm": ("compiler/backends/llvm/compile.py", "llvm.parse_assembly(source)\n"),
    "opencl": ("compiler/backends/opencl/runtime.py", "_Program(self.context, source)\n"),
}


@pytest.mark.slow
@pytest.mark.parametrize("backend", BUILDS)
def test_a_driver_that_aborts_spins_segfaults_or_allocates_costs_one_kernel_each(
    capsys, tmp_path, backend
):
    sizes = dict(zip(MISBEHAVE, (101, 103, 107, 109), strict=True))
    records = [record_of(DIFFERENCE.format(size=n), backend) for n in (3, 5, 7, *sizes.values())]
    names = {how: records[3 + number].name for number, how in enumerate(MISBEHAVE)}
    corpus = make_corpus(tmp_path / "c", records)
    file, build = BUILDS[backend]
    traps = [f"({MISBEHAVE[how]}) if {name!r} in source" for how, name in names.items()]
    trap = " else ".join([*traps, build])
    copy = patched(tmp_path / "copy", Patch(file, build, trap))
    words = ("run", "--corpus", corpus, "--report", "json:-", "--verify", "all")
    options = ("--record-timeout", "10", "--compiler", copy, "--determinism", "none")
    code, out, _ = run(capsys, *words, *options)
    assert code == 1
    reasons = {r["name"]: r["numerics_reason"] for r in json.loads(out)["records"]}
    assert reasons[names["abort"]] == "running it ends in signal 6 (SIGABRT)"
    assert reasons[names["spin"]].startswith("running it takes more than 10 s")
    assert reasons[names["segfault"]] == "running it ends in signal 11 (SIGSEGV)"
    assert reasons[names["allocate"]].startswith("running it needs too much memory")
    others = [
        r["numerics_reason"] or r["numerics"]
        for r in json.loads(out)["records"]
        if r["name"] not in names.values()
    ]
    assert others == ["exact"] * 3
