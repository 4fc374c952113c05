"""The example of docs/own-compiler.md: a folder of .ll and .cl files as a compiler under replay."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compiler import DeviceError, open_device
from corpus import KernelRecord, Target, open_reader, open_writer
from replay.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
SUBJECT = EXAMPLES / "folder_subject.py"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("folder") / "corpus"
    command = (sys.executable, SUBJECT, EXAMPLES / "kernels", path)
    subprocess.run([str(word) for word in command], check=True)
    return path


def replay(capsys, corpus, *options):
    """The exit code, outcome and numerics by kernel, and what was said on stderr."""
    words = ("run", "--corpus", corpus, "--jobs", "1", "--determinism", "none", *options)
    code = main([str(word) for word in (*words, "--report", "json:-")])
    out, err = capsys.readouterr()
    records = json.loads(out)["records"] if out else ()
    return code, {each["name"]: (each["outcome"], each["numerics"]) for each in records}, err


def changed(to, before, after):
    """A copy of the example with another compiler in it, as --subject takes it."""
    text = SUBJECT.read_text(encoding="utf-8")
    assert text.count(before) == 1
    to.write_text(text.replace(before, after), encoding="utf-8")
    return f"{to}:SUBJECT"


def test_a_folder_becomes_a_corpus(corpus):
    with open_reader(corpus) as reader:
        found = {item.record.name: item.record.target.backend for item in reader}
    assert found == {"axpy": "llvm", "first": "llvm", "scale": "opencl", "window": "opencl"}


def test_the_unchanged_compiler_gives_the_same_and_every_kernel_is_right(capsys, corpus):
    code, found, _ = replay(capsys, corpus, "--subject", f"{SUBJECT}:SUBJECT", "--verify", "all")
    assert code == 0
    assert found["axpy"] == found["first"] == ("same", "exact")
    assert found["scale"][0] == found["window"][0] == "same"


def test_a_pass_less_is_another_choice_and_names_the_kernels_it_matters_to(
    capsys, corpus, tmp_path
):
    subject = changed(tmp_path / "s.py", '"new_gvn", "simplify_cfg")', '"simplify_cfg")')
    code, found, _ = replay(capsys, corpus, "--subject", subject, "--mode", "free")
    assert code == 1
    assert {name: found[name] for name in ("axpy", "first")} == {
        "axpy": ("opts", "exact"),
        "first": ("opts", "exact"),
    }
    assert found["scale"][0] == found["window"][0] == "same"
    code, found, _ = replay(capsys, corpus, "--subject", subject)
    assert (code, found["axpy"][0]) == (0, "same")


def test_a_wrong_change_of_the_preprocessor_is_found_by_running_the_kernels(
    capsys, corpus, tmp_path
):
    try:
        open_device("opencl")
    except DeviceError as error:
        pytest.skip(str(error))
    careful = 'f"({value})", text)'
    subject = changed(tmp_path / "s.py", "value, text)", careful)
    code, found, _ = replay(capsys, corpus, "--subject", subject)
    assert code == 1
    assert found["scale"] == ("code", "wrong")
    assert found["window"] == ("code", "exact")
    assert found["axpy"][0] == found["first"][0] == "same"


def test_a_subject_is_compared_with_an_older_revision_of_itself(capsys, corpus, tmp_path):
    changed(tmp_path / "s.py", "value, text)", 'f"({value})", text)')
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "s.py")
    git(tmp_path, "commit", "--quiet", "-m", "careful")
    shutil.copy(SUBJECT, tmp_path / "s.py")
    options = ("--subject", f"{tmp_path / 's.py'}:SUBJECT", "--against", "HEAD", "--verify", "none")
    code, found, _ = replay(capsys, corpus, *options)
    assert code == 1
    outcomes = {name: outcome for name, (outcome, _) in found.items()}
    assert outcomes == {"axpy": "same", "first": "same", "scale": "code", "window": "code"}


def git(tree, *words):
    settings = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", "-C", str(tree), *settings, *words], check=True, capture_output=True)


def test_a_policy_can_name_the_subject_by_its_place_beside_it(capsys, corpus, tmp_path):
    shutil.copy(SUBJECT, tmp_path / "mine.py")
    policy = tmp_path / "pyproject.toml"
    policy.write_text('[tool.replay]\nsubject = "mine.py:SUBJECT"\n')
    code, found, _ = replay(capsys, corpus, "--policy", policy, "--verify", "none")
    assert (code, len(found)) == (0, 4)


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("nothing", "use module:object or path/to/file.py:object"),
        ("nowhere.py:SUBJECT", "nowhere.py does not exist"),
        ("os system:x", "is neither a module nor a .py file"),
    ],
)
def test_a_subject_that_cannot_be_meant_is_one_line_and_exit_code_2(capsys, corpus, name, fact):
    code, _, err = replay(capsys, corpus, "--subject", name)
    assert (code, err.count("\n")) == (2, 1)
    assert fact in err


def test_a_subject_that_cannot_be_imported_is_one_line_and_exit_code_3(capsys, corpus, tmp_path):
    (tmp_path / "s.py").write_text("raise ImportError('no such toolchain')")
    code, _, err = replay(capsys, corpus, "--subject", f"{tmp_path / 's.py'}:SUBJECT")
    assert (code, err.count("\n")) == (3, 1)
    assert "no such toolchain" in err


def test_a_subject_cannot_take_our_own_records(capsys, corpus, tmp_path):
    (tmp_path / "s.py").write_text("class S:\n    kind = 'kernel-replay'\n    checker = None\n")
    code, _, err = replay(capsys, corpus, "--subject", f"{tmp_path / 's.py'}:S")
    assert code == 3
    assert "kind is 'kernel-replay'" in err


def test_a_corpus_cannot_name_code_to_be_imported(capsys, tmp_path):
    (tmp_path / "s.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with open_writer(tmp_path / "c") as writer:
        for kind in (f"{tmp_path / 's.py'}:SUBJECT", "antigravity:SUBJECT"):
            writer.add(KernelRecord(kind=kind, ast="x", target=Target("llvm", "host"), source="y"))
    code, found, _ = replay(capsys, tmp_path / "c")
    assert (code, found) == (3, {"?": ("unreadable", None)})
    assert not (tmp_path / "ran").exists()
