"""Found by a kernel with a hostile name: JUnit was no XML, Markdown showed its image, and `replay
show` let it speak to the CI system that reads the output.

Their kind: text from a corpus is shown by every format, and obeyed by none.
"""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from replay.reports import junit, markdown, sarif, terminal
from replay.reports.json import render as render_json
from replay.text import printable

sys.path.insert(0, str(Path(__file__).parents[1] / "replay"))

from results import changed, crashed, report, same  # its path comes first

HOSTILE = (
    "<script>x</script>\x1b[31m|`a`\n::error file=x::pwn\n##[add-path]/evil\r![i](http://x/)"
    "\\| ``` \u202e ]]> <!--\x00\ufffe"
)
RESULTS = [
    msgspec.structs.replace(each, name=HOSTILE, reason=HOSTILE, test_id=HOSTILE)
    for each in (same(1), changed(2, old=HOSTILE), crashed(3))
]
FORMATS = {
    "junit": junit.render,
    "markdown": markdown.render,
    "sarif": sarif.render,
    "terminal": terminal.render,
    "json": render_json,
}


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_that_a_record_says_is_obeyed(name):
    text = FORMATS[name](report(RESULTS))
    assert not {"\x1b", "\r", "\x00"} & set(text)
    assert [line for line in text.splitlines() if line.lstrip().startswith(("::", "##["))] == []


def test_junit_is_xml_whatever_a_kernel_is_called():
    assert len(ElementTree.fromstring(junit.render(report(RESULTS))).findall(".//testcase")) == 3


def test_markdown_shows_no_image_no_tag_and_no_further_column():
    lines = markdown.render(report(RESULTS)).splitlines()
    text = [line for line in lines if not line.startswith(("- ", "+ ", "  "))]
    assert not any("<script" in line or "![i]" in line for line in text)
    [row] = [line for line in lines if line.startswith("| 000000000000")]
    plain = row.replace("\\\\", "").replace("\\|", "")
    assert plain.count("|") == 6


def test_json_keeps_every_character_as_data():
    assert json.loads(FORMATS["json"](report(RESULTS)))["records"][0]["name"] == HOSTILE


@pytest.mark.parametrize("line", ["::error::x", "  ::set-env::x", "##[add-path]x"])
def test_no_line_is_a_command_to_the_system_that_reads_along(line):
    assert printable(f"a\n{line}").splitlines()[1].lstrip().startswith("\\")
