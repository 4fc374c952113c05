"""Choose seeds among the kernels of models: `python ci/model_seeds.py CORPUS CHOSEN BYTES`.

Kernels that have the same target, ops, dtypes, opts and kinds of views are alike: of each kind the
one with the shortest source is taken, the most frequent kinds first, while there is room for BYTES
of their text. The choice is a function of the corpus alone.
"""

import re
import sys
from collections import Counter
from pathlib import Path

from corpus import KernelRecord, Status, Stored, open_reader, open_writer

Kind = tuple[str, ...]
_OP = re.compile(r"^%\d+ = (\w+) (\w+)(.*)$", re.MULTILINE)
_MARKS = ((r"\|", "stacked"), (r"\?", "masked"), (r"\+", "shifted"), (r"[(,]-", "flipped"))
_VIEW = re.compile(r"view=(\[[^\]]*\])")


def kind_of(record: KernelRecord) -> Kind:
    """What kernels that are alike have in common."""
    nodes = _OP.findall(record.ast)
    ops = sorted({f"{op} {dtype}" for op, dtype, _ in nodes})
    views = sorted({_kind_of_view(view) for *_, rest in nodes for view in _VIEW.findall(rest)})
    opts = sorted({opt.name for opt in record.applied or ()})
    return (record.target.backend, record.target.profile, *ops, "views", *views, "opts", *opts)


def _kind_of_view(view: str) -> str:
    """Stacked, masked, shifted and flipped views are indexed differently."""
    return " ".join([name for mark, name in _MARKS if re.search(mark, view)]) or "plain"


def choose(records: list[tuple[str, KernelRecord]], room: int) -> list[KernelRecord]:
    """The records to keep, whose text takes at most `room` bytes, about."""
    count: Counter[Kind] = Counter()
    shortest: dict[Kind, tuple[int, str, KernelRecord]] = {}
    for key, record in records:
        kind = kind_of(record)
        count[kind] += 1
        size = len(record.ast) + len(record.source or "")
        if kind not in shortest or (size, key) < shortest[kind][:2]:
            shortest[kind] = (size, key, record)
    chosen: list[KernelRecord] = []
    for kind in sorted(shortest, key=lambda each: (-count[each], each)):
        size, _, record = shortest[kind]
        if size <= room:
            room -= size
            chosen.append(record)
    return chosen


def main(corpus: str, chosen: str, room: str) -> None:
    with open_reader(Path(corpus)) as reader:
        items = [(item.key, item.record) for item in reader if isinstance(item, Stored)]
    finished = [(key, record) for key, record in items if record.status is Status.FINISHED]
    kept = choose(finished, int(room))
    with open_writer(Path(chosen)) as writer:
        for record in kept:
            writer.add(record)
    kinds = len({kind_of(record) for _, record in finished})
    print(f"{len(kept)} of {len(finished)} kernels, {kinds} kinds")


if __name__ == "__main__":
    main(*sys.argv[1:])
