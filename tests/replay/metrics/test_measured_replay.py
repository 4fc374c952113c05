"""Metrics and the guard, through the command line."""

import json

import pytest
from programs import DIFFERENCE, DROP_AN_OPT, SPACING, keys_of, make_corpus, patched, record_of, run

POLICY = '[tool.replay]\nallow = ["same", "opts/exact", "code/exact"]\n'


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return make_corpus(
        tmp_path_factory.mktemp("one") / "one", [record_of(DIFFERENCE.format(size=64))]
    )


@pytest.fixture
def replay(capsys, tmp_path, corpus):
    """Exit code, JSON report and text of a replay by a patched compiler, under a lenient policy."""

    def replay(patch, *options, policy=POLICY):
        (tmp_path / "pyproject.toml").write_text(policy)
        path = tmp_path / "report.json"
        code, out, _ = run(
            capsys, "run", "--corpus", corpus, "--compiler", patched(tmp_path / "copy", patch),
            "--policy", tmp_path / "pyproject.toml", "--report", f"json:{path}",
            "--determinism", "none", "--jobs", "1", *options,
        )  # fmt: skip
        return code, json.loads(path.read_text()), out

    return replay


def test_a_kernel_without_its_vectors_is_exact_and_fails(replay):
    code, report, out = replay(DROP_AN_OPT, "--mode", "free")
    (record,) = report["records"]
    assert (code, record["outcome"], record["numerics"]) == (1, "opts", "exact")
    assert record["excess"].startswith("iterations ")
    assert report["gate"]["why"] == [
        f"1 record is beyond the limits of growth, as {record['key'][:12]} {record['name']}: "
        f"{record['excess']}"
    ]
    assert "iterations: 0 helped, 1 hurt of 1" in out


def test_machine_code_is_measured_on_both_sides(replay):
    _, report, _ = replay(DROP_AN_OPT, "--mode", "free")
    metrics = report["records"][0]["metrics"]
    for name in ("instructions", "vector", "scalar", "loads", "stores", "branches", "vector_bits"):
        assert metrics[name]["old"] is not None
        assert metrics[name]["new"] is not None
    summaries = {each["name"]: each for each in report["metrics"]}
    assert summaries["iterations"]["hurt"] == 1


def test_without_running_anything_sources_are_measured_all_the_same(replay):
    code, report, _ = replay(
        DROP_AN_OPT,
        "--mode",
        "free",
        "--verify",
        "none",
        policy='[tool.replay]\nallow = ["opts"]\n',
    )
    assert code == 1
    assert set(report["records"][0]["metrics"]) == {
        "iterations", "loads_per_element", "loops", "flops", "bytes", "rewrites"
    }  # fmt: skip


def test_equal_machine_code_hurts_nothing(replay):
    code, report, _ = replay(SPACING)
    assert code == 0
    assert report["machine_code"] == {"equal": 1}
    assert sum(each["affected"] for each in report["metrics"]) == 0


def test_diff_shows_how_a_kernel_grew(capsys, tmp_path, corpus):
    copy = patched(tmp_path / "copy", DROP_AN_OPT)
    (key,) = keys_of(corpus)
    words = ("diff", key, "--corpus", corpus, "--compiler", copy, "--mode", "free")
    code, out, _ = run(capsys, *words, "--verify", "none", "--determinism", "none", "--jobs", "1")
    assert code == 1
    assert "grew: iterations " in out
    assert any(line.startswith("metric iterations ") for line in out.splitlines())
