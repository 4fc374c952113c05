"""Corpora that mean harm: whatever a record holds ends in an outcome, in bounded time."""

import json
import random
import resource
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import DIFFERENCE, ROW_SUMS, make_corpus, record_of, run

from corpus import KernelRecord, Opt, open_reader
from corpus.encoding import Value, seal
from replay.codec import SUBJECT
from replay.subject import RefusedError

ROOT = Path(__file__).parents[2]
ONE = DIFFERENCE.format(size=4)
HEAD = """ir 1
%0 = BUFFER float32 slot=0 size=4
%1 = BUFFER float32 slot=1 size=4
%2 = LOAD float32 %1 view=[(4):(1)]
"""


def chain(length, second):
    """A sum of `length` terms, of each node with itself or with the first."""
    lines = [f"%{n} = ADD float32 %{n - 1} %{n - 1 if second else 2}" for n in range(3, 3 + length)]
    last = 2 + length
    store = f"%{last + 1} = STORE void %0 %{last} view=[(4):(1)]"
    return HEAD + "\n".join([*lines, store, f"%{last + 2} = SINK void %{last + 1} axes=(g0:4)", ""])


def huge(size):
    return DIFFERENCE.format(size=size)


def deep_view(count):
    views = "|".join(["(4):(1)"] * count)
    return HEAD.replace("[(4):(1)]", f"[{views}]") + (
        "%3 = STORE void %0 %2 view=[(4):(1)]\n%4 = SINK void %3 axes=(g0:4)\n"
    )


def many_axes(count):
    ones, zeros = ",".join(["1"] * count), ",".join(["0"] * count)
    axes = ",".join(f"g{n}:1" for n in range(count))
    return (
        "ir 1\n%0 = BUFFER float32 slot=0 size=1\n%1 = BUFFER float32 slot=1 size=1\n"
        f"%2 = LOAD float32 %1 view=[({ones}):({zeros})]\n"
        f"%3 = STORE void %0 %2 view=[({ones}):({zeros})]\n%4 = SINK void %3 axes=({axes})\n"
    )


@dataclass(frozen=True)
class Hostile:
    """A record, and what may become of it."""

    name: str
    fields: dict
    outcomes: frozenset


REFUSED = frozenset({"unreadable", "error"})
ANSWERED = REFUSED | {"code", "renamed", "same"}  # an answer is as good, if it comes in time
UPCAST_ALL = Opt("UPCAST", {"axis": "g0", "amount": 10**9})
RECORDS = [
    Hostile("deep", {"ast": chain(20_000, second=False)}, ANSWERED),
    Hostile("shared a billion times", {"ast": chain(64, second=True)}, ANSWERED),
    Hostile("shared beyond counting", {"ast": chain(5_000, second=True)}, ANSWERED),
    Hostile("larger than memory", {"ast": huge(10**15)}, ANSWERED),
    Hostile("larger than 64 bits", {"ast": huge(10**30)}, ANSWERED),
    Hostile("a number of many digits", {"ast": huge("9" * 5_000)}, REFUSED),
    Hostile("a tall stack of views", {"ast": deep_view(5_000)}, ANSWERED),
    Hostile("many axes", {"ast": many_axes(2_000)}, ANSWERED),
    Hostile("nested parentheses", {"ast": HEAD + "%3 = " + "(" * 100_000}, REFUSED),
    Hostile("a line without end", {"ast": HEAD + "%3 = ADD float32" + " %2" * 300_000}, REFUSED),
    Hostile(
        "an upcast of all", {"applied": (Opt("UPCAST", {"axis": "g0", "amount": 10**9}),)}, REFUSED
    ),
    Hostile("many opts", {"applied": (Opt("NOLOCALS"),) * 20_000}, REFUSED),
    Hostile("a path as a name", {"options": {"name": "../../../../tmp/x"}}, ANSWERED),
    Hostile("an option that is no option", {"options": {"__class__.x": 1}}, REFUSED),
    Hostile("an option of another type", {"options": {"schedule.max_nodes": "rm -rf"}}, REFUSED),
    Hostile("a module as a backend", {"backend": "os:system"}, REFUSED),
    Hostile("a module as a kind", {"kind": "os:system"}, REFUSED),
]


def hostile_record(hostile):
    fields = dict(hostile.fields)
    record = record_of(ONE)
    if backend := fields.pop("backend", None):
        fields["target"] = msgspec.structs.replace(record.target, backend=backend)
    options = {"name": hostile.name, **fields.pop("options", {})}
    return msgspec.structs.replace(record, options=options, **fields)


def test_every_hostile_record_ends_in_an_outcome_and_harms_no_other(capsys, tmp_path):
    records = [hostile_record(hostile) for hostile in RECORDS]
    corpus = make_corpus(tmp_path / "c", [*records, record_of(ONE), record_of(ONE, "opencl")])
    words = ("run", "--corpus", corpus, "--verify", "none", "--report", "json:-")
    limits = ("--record-timeout", "20", "--record-memory", "1024", "--determinism", "none")
    code, out, _ = run(capsys, *words, *limits)
    report = json.loads(out)
    assert code == 1
    assert report["totals"]["records"] == len(RECORDS) + 2
    outcomes = {record["key"]: record for record in report["records"]}
    with open_reader(corpus) as reader:
        found = {item.record.options.get("name"): outcomes[item.key] for item in reader}
    for hostile, record in zip(RECORDS, records, strict=True):
        said = found[record.options["name"]]
        assert said["outcome"] in hostile.outcomes, (hostile.name, said["outcome"], said["reason"])
    assert found[None]["outcome"] == "same"


def test_a_value_that_unpacks_to_gigabytes_is_unreadable_to_run_and_costs_no_memory(
    capsys, tmp_path
):
    corpus = make_corpus(tmp_path / "c", [record_of(ONE), record_of(ONE, "opencl")])
    with open_reader(corpus) as reader:
        bombed, _ = reader.keys()
    bomb = seal(bombed, Value(1, zstandard.compress(bytes(2 << 30), 1)))
    with sqlite3.connect(corpus / "cache.db") as database:
        database.execute("UPDATE Cache SET value = ? WHERE key = ?", (bomb, bombed))
    database.close()
    words = ("run", "--corpus", str(corpus), "--verify", "none", "--report", "json:-")
    command = [sys.executable, "-m", "replay.cli", *words, "--determinism", "none", "--no-skip"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    outcomes = {each["key"]: each["outcome"] for each in json.loads(done.stdout)["records"]}
    assert done.returncode == 1
    assert outcomes.pop(bombed) == "unreadable"
    assert list(outcomes.values()) == ["same"]
    assert after == before or after < 1 << 20  # KiB: less than half of what it would unpack to


SUMS = ROW_SUMS.format(rows=3, columns=12, all=36)
LINES = [*ONE.splitlines(), *SUMS.splitlines()]
WORDS = ["%0", "%99", "-1", "ADD", "REDUCE", "float32x4", "view=none", "axes=()", "size=0", "@", ""]


@st.composite
def texts(draw):
    """An AST's text in which lines and words were exchanged, repeated, dropped or cut."""
    lines = list(
        draw(st.sampled_from([ONE, ROW_SUMS.format(rows=3, columns=12, all=36)])).split("\n")
    )
    random_source = random.Random(draw(st.integers(0, 2**32)))
    for _ in range(draw(st.integers(1, 4))):
        place = random_source.randrange(len(lines))
        words = lines[place].split(" ")
        words[random_source.randrange(len(words))] = random_source.choice(WORDS)
        lines[place] = random_source.choice([" ".join(words), *LINES, ""])
    return "\n".join(lines)


def refusal_of(record: KernelRecord):
    """What the decoder says against a record; it may say no, and raise nothing else."""
    try:
        SUBJECT.check(record)
    except RefusedError as refusal:
        return refusal.error
    return None


@settings(max_examples=300, deadline=None)
@given(st.one_of(texts(), st.text(max_size=200), st.text(max_size=80).map(lambda t: HEAD + t)))
def test_any_text_is_an_ast_or_refused_in_one_line(text):
    why = refusal_of(msgspec.structs.replace(PLAIN, ast=text))
    assert why is None or ("\n" not in why and why)


SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=20)
NAMES = st.sampled_from(["UPCAST", "SWAP", "PADTO", "", "os.system"]) | st.text(max_size=9)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.builds(
            Opt,
            NAMES,
            st.dictionaries(st.sampled_from(["axis", "amount", "other"]), SCALARS, max_size=3),
        ),
        max_size=3,
    ),
    st.dictionaries(
        st.sampled_from(["name", "schedule.max_nodes", "math.fma", "math", "x.y"]),
        SCALARS,
        max_size=3,
    ),
)
def test_any_opts_and_options_are_known_or_refused_in_one_line(opts, options):
    record = msgspec.structs.replace(PLAIN, requested=tuple(opts), options=options)
    why = refusal_of(record)
    assert why is None or ("\n" not in why and why)


PLAIN = record_of(ONE)
