"""Kernels for devices that are not here: compiled and compared, and their numerics left open."""

import json
from dataclasses import replace

import pytest
from programs import DIFFERENCE, ROW_SUMS, make_corpus, record_of, run

from compiler import find_target, open_device
from replay.numerics.checker import CHECKER
from replay.outcome import Numerics

HALVES = DIFFERENCE.format(size=64).replace("float32", "float16")
ABSENT = ("opencl/adreno", "opencl/nvidia", "opencl/amd", "llvm/dsp")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    texts = (HALVES, ROW_SUMS.format(rows=64, columns=128, all=8192))
    records = [record_of(text, target) for text in texts for target in ABSENT]
    return make_corpus(tmp_path_factory.mktemp("corpora") / "absent", records)


def test_a_corpus_of_absent_devices_is_compiled_compared_and_not_run(capsys, tmp_path, corpus):
    path = tmp_path / "report.json"
    words = ("--verify", "all", "--jobs", "1", "--report", f"json:{path}")
    run(capsys, "run", "--corpus", corpus, *words)
    report = json.loads(path.read_text())
    assert report["totals"]["same"] == report["totals"]["records"] == 2 * len(ABSENT)
    assert report["numerics"]["skipped"] == 2 * len(ABSENT)


@pytest.mark.parametrize("target", ABSENT)
def test_the_reason_names_the_target_and_what_is_here(target):
    checked = CHECKER.check(record_of(HALVES, target), None, None)
    assert checked.numerics is Numerics.SKIPPED
    assert checked.reason.startswith(f"{target}: ")
    assert checked.reason.endswith("the kernel is only compiled")


def test_records_of_one_target_are_listed_alone(capsys, corpus):
    _, out, _ = run(capsys, "list", "--corpus", corpus, "--target", "opencl/adreno")
    assert [line.split()[1] for line in out.splitlines()] == ["opencl/adreno"] * 2


@pytest.mark.parametrize("name", ["llvm", "llvm/tiles", "opencl", "reference"])
def test_a_device_is_of_its_own_kind(name):
    target = find_target(name)
    assert open_device(target.backend).why_unlike(target) is None


def test_an_x86_cpu_is_no_aarch64_and_an_aarch64_no_x86():
    device = open_device("llvm")
    whys = [device.why_unlike(find_target(f"llvm/{n}")) for n in ("x86-64-v3", "aarch64")]
    assert any(whys)


def test_a_cpu_without_a_feature_of_the_profile_is_another_one():
    target = find_target("llvm/x86-64-v4-bf16")
    strange = replace(target.capabilities, cpu_features=("teleports",))
    why = open_device("llvm").why_unlike(replace(target, capabilities=strange))
    assert why is not None
    assert why.startswith("llvm/x86-64-v4-bf16: ")
