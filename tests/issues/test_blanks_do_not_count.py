"""Found by other blanks in a renderer: 30 kernels were `helped` in iterations, by a factor of 7.

Readers of sources looked for `  br` and `for (`: with another indentation no loop was one, and the
work of a kernel was that of its body. Their kind: what is counted in a source, and how a change is
titled, does not follow blanks and empty lines.
"""

from pathlib import Path

import msgspec
import pytest

from corpus import Selection, open_reader, select
from replay.compare.diff import artefact_of, edits
from replay.metrics.work import work_of

SEEDS = Path(__file__).parents[2] / "corpus" / "seeds" / "seeds.txt"
LAYOUTS = {
    "deeper": [("\n  ", "\n      ")],
    "tabs": [("\n  ", "\n\t")],
    "flat": [("\n  ", "\n")],
    "empty lines": [("\n", "\n\n")],
    "blanks at the end": [("\n", "  \n")],
    "narrow": [(", ", ","), (" = ", "="), (" (", "("), (" {", "{"), (" + ", "+"), (" < ", "<")],
    "wide": [(",", " , "), ("=", " = "), (" =  = ", " == "), ("(", "( "), (")", " )"), ("[", " [")],
}


@pytest.fixture(scope="module")
def seeds():
    with open_reader(SEEDS) as reader:
        found = [artefact_of(item.record) for item in select(reader, Selection(limit=60))]
    return [each for each in found if each is not None and work_of(each) is not None]


def laid_out(artefact, changes):
    source = artefact.source
    for before, after in changes:
        source = source.replace(before, after)
    return msgspec.structs.replace(artefact, source=source)


@pytest.mark.parametrize("changes", LAYOUTS.values(), ids=LAYOUTS)
def test_a_kernel_does_the_same_work_in_every_layout(seeds, changes):
    assert len(seeds) > 50
    other = [each.name for each in seeds if work_of(laid_out(each, changes)) != work_of(each)]
    assert other == []


@pytest.mark.parametrize("changes", LAYOUTS.values(), ids=LAYOUTS)
def test_another_layout_is_one_way_to_change(seeds, changes):
    titles = [edits(seed.source, laid_out(seed, changes).source) for seed in seeds]
    assert dict.fromkeys(titles) == {("spacing",): None}


def test_a_loop_that_closes_by_another_jump_is_a_loop(seeds):
    looping = next(seed for seed in seeds if "  br label %g0.head" in seed.source)
    jump = "  indirectbr ptr %at, [label %g0.head]"
    source = looping.source.replace("  br label %g0.head", jump)
    assert work_of(msgspec.structs.replace(looping, source=source)) == work_of(looping)


def test_a_loop_written_without_a_blank_is_no_function():
    assert edits("for(int i = 0; i < 4; i++) {", "for(int i = 0; i <= 4; i++) {") == ("< -> <=",)
