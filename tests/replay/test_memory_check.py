"""`--check memory`: what kernels do to memory, seen by a simulator."""

import json
import shutil

import pytest
from programs import DIFFERENCE, RENDER, ROW_SUMS, make_corpus, patched, record_of, run

from replay.numerics.oclgrind import findings
from replay.patched import Patch

needs_oclgrind = pytest.mark.skipif(not shutil.which("oclgrind"), reason="needs oclgrind")

PLANTED = (
    "data0[6] = 1.0f;"  # behind its end
    " if (data0[get_global_id(0) ^ 1] > 3.0f) data0[0] = 3.0f;"  # what others may have written
)
STORE_BEHIND_THE_END = Patch(
    "compiler/compile.py",
    RENDER,
    f"{RENDER}\n"
    "    if target.backend == 'opencl':\n"
    f"        source = source.rstrip()[:-1] + '{PLANTED}}}\\n'",
)
LOG = """
Invalid write of size 4 at global memory address 0x1000000000010
\tKernel: k
\tEntity: Global(3,0,0) Local(1,0,0) Group(1,0,0)
\t  store float %0, float addrspace(1)* %arrayidx2, align 4
\tAt line 1 (column 90) of input.cl:
\t  a[i+1] = b[i];
\t

Read-write data race at local memory address 0x1000000000004
\tKernel: u
\t
\tFirst entity:  Global(1,0,0) Local(1,0,0) Group(0,0,0)
\tAt line 2 (column 84) of input.cl:
\t  t[l] = l;
\t
\tSecond entity: Global(0,0,0) Local(0,0,0) Group(0,0,0)
\t

Oclgrind - OpenCL runtime library
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    texts = (DIFFERENCE.format(size=6), ROW_SUMS.format(rows=3, columns=12, all=36))
    records = [record_of(text, "opencl") for text in texts]
    return make_corpus(
        tmp_path_factory.mktemp("corpora") / "c", [*records, record_of(texts[0], "llvm")]
    )


def checked(capsys, corpus, *options):
    """Exit code, reasons of wrong numbers by target, and notes, of a replay that checks memory."""
    words = ("--verify", "none", "--determinism", "none", "--jobs", "1", "--check", "memory")
    code, out, err = run(capsys, "run", "--corpus", corpus, *words, "--report", "json:-", *options)
    assert out, err
    report = json.loads(out)
    wrong = [each for each in report["records"] if each["numerics"] == "wrong"]
    return code, {(each["target"], each["numerics_reason"]) for each in wrong}, report["notes"]


@needs_oclgrind
def test_kernels_that_keep_to_their_buffers_pass(capsys, corpus):
    code, wrong, notes = checked(capsys, corpus)
    assert (code, wrong) == (0, set())
    assert "memory of 2 OpenCL kernels was checked by Oclgrind" in notes


@needs_oclgrind
def test_a_planted_store_behind_a_buffer_makes_its_record_wrong(capsys, corpus, tmp_path):
    copy = patched(tmp_path / "copy", STORE_BEHIND_THE_END)
    code, wrong, _ = checked(capsys, corpus, "--compiler", copy, "--only", "E_*")
    assert code == 1
    ((target, reason),) = wrong
    assert target.startswith("opencl/")
    assert reason.startswith("memory: ")
    assert "data0[6] = 1.0f" in reason


def test_without_oclgrind_one_line_says_so(capsys, corpus, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, err = run(capsys, "run", "--corpus", corpus, "--check", "memory")
    assert (code, err) == (
        3,
        "replay: --check memory: Oclgrind is not installed; apt install oclgrind\n",
    )


def test_each_finding_of_a_log_becomes_one_line():
    assert list(findings(LOG)) == [
        "Invalid write of size 4 in global memory by work item (3,0,0): a[i+1] = b[i];",
        "Read-write data race in local memory by work item (1,0,0): t[l] = l;",
    ]
