"""The HTML report as a person meets it: in Chromium, with mouse and keys."""

import shutil

import msgspec
import pytest
from results import artefact, changed, crashed, report, same

from replay.outcome import Numerics
from replay.reports import find_format

api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
EVIL = "</script><img src='https://example.invalid/x'>"


@pytest.fixture(scope="module")
def browser():
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A report of 10,000 records."""
    wrong = changed(1, numerics=Numerics.WRONG, numerics_reason="y[7]")
    staged = msgspec.structs.replace(
        wrong,
        old=artefact("  a = b - c;", texts=(("expand", "first"),)),
        new=artefact("  a = c - b;", texts=(("expand", "second"),)),
    )
    results = [
        staged,
        changed(2, new="  a = b * c;", numerics=Numerics.EXACT),
        crashed(3, reason=EVIL),
        *[same(number) for number in range(4, 10_001)],
    ]
    path = tmp_path_factory.mktemp("html") / "report.html"
    path.write_text(find_format("html")(report(results)), encoding="utf-8")
    return path


@pytest.fixture
def page(browser, file):
    """The report, open; anything on the console and any request but its own is a failure."""
    opened, said, asked = browser.new_page(), [], []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(file.as_uri())
    yield opened
    opened.close()
    assert said == []
    assert asked == [file.as_uri()]


def shown(page):
    return page.inner_text("#shown")


def test_few_of_ten_thousand_rows_are_built(page):
    assert shown(page) == "1 to 100 of 10000"
    assert page.locator("#records tbody tr").count() == 100


def test_a_click_on_an_outcome_filters_and_a_second_one_undoes_it(page):
    page.click("button[data-outcome=code]")
    assert shown(page) == "1 to 2 of 2"
    page.click("button[data-outcome=code]")
    assert shown(page) == "1 to 100 of 10000"


def test_a_click_on_a_verdict_filters(page):
    page.click("button[data-numerics=wrong]")
    assert shown(page) == "1 to 1 of 1"


def test_keys_search_and_leave_the_search(page):
    page.keyboard.press("/")
    page.keyboard.type("sigsegv nothing")
    assert shown(page) == "0 to 0 of 0"
    page.fill("#search", "y[7]")
    assert shown(page) == "1 to 1 of 1"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") != "search"


def test_keys_turn_pages(page):
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert shown(page) == "101 to 200 of 10000"


def test_keys_walk_rows_and_choose_one(page):
    page.locator("#records tbody tr").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.inner_text("#records tr.chosen td:first-child") in page.inner_text("#command")


def test_stages_and_sources_stand_beside_each_other(page):
    closed = page.locator("details.cluster:not([open]) summary")
    while closed.count():
        closed.first.click()
    cells = page.locator(".diff tr.other td").all_inner_texts()
    assert {"first", "second", "  a = b - c;", "  a = c - b;"} <= set(cells)


def test_text_of_a_corpus_stays_text(page):
    page.fill("#search", "example.invalid")
    assert EVIL in page.inner_text("#records tbody")
    assert page.locator("img").count() == 0


def test_counts_are_plotted(page):
    titles = page.locator("figcaption").all_inner_texts()
    assert titles == [
        "outcomes",
        "numerics",
        "worst element, in bounds",
        "worst element of wrong kernels",
    ]
    widths = [box.bounding_box()["width"] for box in page.locator("figure i").all()]
    assert min(widths) >= 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_in_light_and_dark(page, scheme):
    page.emulate_media(color_scheme=scheme)
    style = "getComputedStyle(document.body)"
    text, paper = (
        sum(map(int, page.evaluate(f"{style}.{name}.match(/\\d+/g).slice(0, 3)")))
        for name in ("color", "backgroundColor")
    )
    assert (text < paper) == (scheme == "light")
    assert abs(text - paper) > 500
