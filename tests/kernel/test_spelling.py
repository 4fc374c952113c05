"""Opts as text, both spellings."""

import pytest

from compiler.errors import IllegalOptError
from compiler.kernel import (
    Group,
    GroupTop,
    Local,
    NoLocals,
    PadTo,
    Positional,
    Swap,
    Unroll,
    Upcast,
    format_opt,
    format_opts,
    parse_opt,
    parse_opts,
    to_positional,
)

SPELLINGS = [
    (Upcast("g0", 4), "UPCAST g0 4"),
    (Unroll("r0.o", 8), "UNROLL r0.o 8"),
    (Local("g1.i", 16), "LOCAL g1.i 16"),
    (Group("r0", 2), "GROUP r0 2"),
    (GroupTop("r0", 256), "GROUPTOP r0 256"),
    (PadTo("g0", 32), "PADTO g0 32"),
    (Swap("g0", "g1"), "SWAP g0 g1"),
    (NoLocals(), "NOLOCALS"),
    (Upcast("0", 4), "UPCAST @0 4"),  # an axis that is called 0
    (Swap("-1", "2"), "SWAP @-1 @2"),
    (Positional("UPCAST", 0, 4), "UPCAST 0 4"),
    (Positional("LOCAL", 1, 0), "LOCAL 1 0"),
    (Positional("SWAP", 0, 1), "SWAP 0 1"),
    (Positional("UNROLL", -1, 4), "UNROLL -1 4"),
]


@pytest.mark.parametrize(("opt", "text"), SPELLINGS)
def test_an_opt_has_one_text(opt, text):
    assert format_opt(opt) == text


@pytest.mark.parametrize(("opt", "text"), SPELLINGS)
def test_the_text_reads_back_to_the_same_opt(opt, text):
    assert parse_opt(text) == opt


def test_several_opts_are_parted_by_semicolons():
    opts = tuple([opt for opt, _ in SPELLINGS])
    assert parse_opts(format_opts(opts)) == opts


def test_no_text_is_no_opt():
    assert parse_opts(" ") == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("FUSE g0 4", "is unknown, use one of UPCAST UNROLL LOCAL"),
        ("", "is unknown"),
        ("UPCAST g0", "1 words after UPCAST, not 2"),
        ("UPCAST g0 4 5", "3 words after UPCAST, not 2"),
        ("NOLOCALS g0", "1 words after NOLOCALS, not 0"),
        ("UPCAST g0 four", "'four' is not an integer"),
        ("UPCAST g0 True", "'True' is not an integer"),
        ("UPCAST g0 4.0", "'4.0' is not an integer"),
        ("UPCAST g0 99999999999999999999", "is not an integer"),
        ("SWAP g0 1", "'1' is not the name of an axis"),
        ("SWAP 0 g1", "'g1' is not an integer"),
        ("UPCAST g0/ 4", "'g0/' is not the name of an axis"),
        ("UPCAST @ 4", "'@' is not the name of an axis"),
    ],
)
def test_other_text_is_refused_with_the_reason(text, words):
    with pytest.raises(IllegalOptError) as raised:
        parse_opt(text)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("opt", "text"),
    [
        (Upcast("g1", 4), "UPCAST 1 4"),
        (Unroll("r0", 4), "UNROLL 0 4"),
        (Group("r0", 4), "GROUP 0 4"),
        (Swap("g0", "g1"), "SWAP 0 1"),
        (PadTo("r0", 32), "PADTO 2 32"),
        (NoLocals(), "NOLOCALS"),
    ],
)
def test_a_named_opt_can_be_spelled_by_position(kernel_of, opt, text):  # row 45
    assert format_opt(to_positional(opt, kernel_of("matmul"))) == text
