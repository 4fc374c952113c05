"""The loops of recorded kernels in `replay show` and `replay list`, coloured by their roles."""

import re

import msgspec
import pytest
from programs import ROW_SUMS, make_corpus, record_of, run

from compiler.kernel import COLOURS, Role
from corpus import Opt, open_reader

ESCAPE = re.compile(r"\x1b\[(\d+)m(\d+)\x1b\[0m")
OPTS = (
    Opt("GROUP", {"axis": "r0", "amount": 4}),
    Opt("UNROLL", {"axis": "r0.o", "amount": 2}),
    Opt("UPCAST", {"axis": "g0", "amount": 2}),
    Opt("LOCAL", {"axis": "g0.o", "amount": 8}),
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A kernel with a loop of every role, and one with an opt that nobody knows."""
    plain = record_of(ROW_SUMS.format(rows=64, columns=64, all=4096), "opencl")
    unknown = record_of(ROW_SUMS.format(rows=8, columns=8, all=64), "opencl")
    records = (
        msgspec.structs.replace(plain, applied=OPTS),
        msgspec.structs.replace(unknown, applied=(Opt("FOLD", {}),)),
    )
    return make_corpus(tmp_path_factory.mktemp("corpora") / "c", records)


def key_of(corpus, rows):
    with open_reader(corpus) as reader:
        return next(item.key for item in reader if f"slot=0 size={rows}\n" in item.record.ast)


def test_every_loop_has_the_colour_of_its_role(capsys, corpus):
    code, out, _ = run(capsys, "show", key_of(corpus, 64), "--corpus", corpus, "--color", "always")
    wanted = (Role.GLOBAL, Role.LOCAL, Role.GROUP, Role.REDUCE, Role.UNROLL, Role.UPCAST)
    found = ESCAPE.findall(next(line for line in out.splitlines() if line.startswith("shape")))
    sizes = ["4", "8", "4", "8", "2", "2"]
    assert (code, found) == (0, [(str(COLOURS[r]), s) for r, s in zip(wanted, sizes, strict=True)])
    assert "loop       r0.i: GROUP of 4" in out
    assert "(group-reduce)" in out


def test_what_is_no_terminal_gets_no_colours(capsys, corpus):
    _, out, _ = run(capsys, "show", key_of(corpus, 64), "--corpus", corpus)
    assert "shape      4 8 4 8 2 2\n" in out


def test_a_list_shows_shapes_when_it_is_asked_to(capsys, corpus):
    _, plain, _ = run(capsys, "list", "--corpus", corpus)
    _, shapes, _ = run(capsys, "list", "--corpus", corpus, "--shapes", "--color", "never")
    _, coloured, _ = run(capsys, "list", "--corpus", corpus, "--shapes", "--color", "always")
    assert "4 8 4 8 2 2 " not in plain
    assert "\x1b" not in plain + shapes
    assert "4 8 4 8 2 2 " in shapes
    assert re.sub(r"\x1b\[\d+m", "", coloured) == shapes != coloured


def test_a_kernel_that_this_compiler_refuses_has_no_shape(capsys, corpus):
    _, listed, _ = run(capsys, "list", "--corpus", corpus, "--shapes")
    code, shown, _ = run(capsys, "show", key_of(corpus, 8), "--corpus", corpus)
    assert [line for line in listed.splitlines() if "  ? " in line]
    assert (code, "shape" in shown) == (0, False)


def test_shapes_in_json_are_refused(capsys, corpus):
    code, _, err = run(capsys, "list", "--corpus", corpus, "--shapes", "--json")
    assert (code, "--shapes" in err) == (2, True)
