"""`--time`: changed kernels beside their old ones, through the command line."""

import json

import pytest
from programs import DIFFERENCE, after_rendering, make_corpus, patched, record_of, run

SLOWER = after_rendering(  # no optimizer may drop a volatile load
    r"source = re.sub(r'  %\w+ = load (.*)', lambda m: m[0] + ''.join("
    r"f'\n  %again{m.start()}.{n} = load volatile {m[1]}' for n in range(200)), source)"
)
DEADLY = after_rendering(  # only where it runs: the recorded source is as it was
    r"source = re.sub(r'  %\w+ = load ', lambda m: '  call void @llvm.trap()\n' + m[0], source)",
    r"source += '\ndeclare void @llvm.trap()\n'",
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpora") / "c"
    return make_corpus(path, [record_of(DIFFERENCE.format(size=4096), "llvm")])


def replayed(capsys, corpus, *options):
    words = ("--determinism", "none", "--jobs", "1", "--no-skip", "--report", "json:-")
    _, out, err = run(capsys, "run", "--corpus", corpus, *words, *options)
    assert out, err
    report = json.loads(out)
    return report, report["records"][0]


def test_a_kernel_that_repeats_its_loads_is_hurt(capsys, corpus, tmp_path):
    copy = patched(tmp_path / "copy", SLOWER)
    report, record = replayed(capsys, corpus, "--time", "--compiler", copy)
    assert record["numerics"] == "exact"
    assert record["timing"], report["notes"]
    assert record["timing"]["verdict"] == "hurt"
    (time,) = [each for each in report["metrics"] if each["name"] == "time"]
    assert (time["compared"], time["hurt"], time["helped"]) == (1, 1, 0)
    assert "1 changed kernels were timed" in report["notes"]


def test_a_kernel_that_dies_while_it_is_timed_is_one_note(capsys, corpus, tmp_path):
    copy = patched(tmp_path / "copy", DEADLY)
    report, record = replayed(capsys, corpus, "--time", "--verify", "none", "--compiler", copy)
    assert (record["outcome"], record["numerics"], record["timing"]) == ("code", None, None)
    assert [note for note in report["notes"] if "not timed" in note] == [
        "1 kernels were not timed: the worker ended in Died"
    ]


def test_an_unchanged_corpus_times_nothing(capsys, corpus):
    report, record = replayed(capsys, corpus, "--time")
    assert record["timing"] is None
    assert not [note for note in report["notes"] if "timed" in note]


def test_a_second_capture_cannot_be_timed(capsys, corpus):
    code, _, err = run(capsys, "run", "--corpus", corpus, "--fresh", corpus, "--time")
    assert code == 2
    assert "leave out --fresh or --time" in err
