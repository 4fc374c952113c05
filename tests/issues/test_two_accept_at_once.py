"""Two `accept` at once: the ledger, or the archive, was read by both and written by the last.

The cause: a file that is read, changed and written anew was nobody's meanwhile.
"""

import multiprocessing

import msgspec

from corpus import export_corpus, open_reader, open_writer
from replay.approvals import Approval, add_approvals
from replay.baseline import update_corpus

WRITERS, EACH = 4, 12


def approve(path, number, start):
    start.wait()
    for count in range(EACH):
        digest = f"{number:08x}{count:08x}"
        add_approvals(path, [Approval(digest, digest, None, f"writer {number}", "a test")])


def update(path, keys, start):
    start.wait()
    for key in keys:
        with open_reader(path) as reader:
            record = reader.read(key).record
        update_corpus(path, {key: msgspec.structs.replace(record, name=f"new_{key[:8]}")})


def at_once(function, arguments):
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(len(arguments))
    children = [context.Process(target=function, args=(*each, start)) for each in arguments]
    for child in children:
        child.start()
    for child in children:
        child.join()
        assert child.exitcode == 0


def test_each_approval_is_in_the_ledger(tmp_path):
    path = tmp_path / "approvals.txt"
    at_once(approve, [(path, number) for number in range(WRITERS)])
    lines = path.read_text().splitlines()
    assert len(lines) == 1 + WRITERS * EACH
    assert sorted(tmp_path.iterdir()) == [path]


def test_each_new_baseline_is_in_the_archive(tmp_path):
    path = tmp_path / "kernels.krc"
    with open_reader("corpus/seeds/seeds.txt") as seeds, open_writer(tmp_path / "all") as writer:
        for item, _ in zip(seeds, range(WRITERS * EACH), strict=False):
            writer.add(item.record)
    with open_reader(tmp_path / "all") as reader:
        export_corpus(reader, path)
        keys = list(reader.keys())
    at_once(update, [(path, keys[number::WRITERS]) for number in range(WRITERS)])
    with open_reader(path) as reader:
        assert [item.record.name for item in reader] == [f"new_{key[:8]}" for key in keys]
