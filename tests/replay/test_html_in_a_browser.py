"""The HTML report as a person meets it: in Chromium, with mouse and keys."""

import shutil

import msgspec
import pytest
from results import artefact, changed, crashed, report, same

from replay.compare.assemblies import packed
from replay.outcome import Numerics
from replay.reports import find_format

api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
TURNED = "a\u202eTURNED \\\\u202d"
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
        ast="ir 1\n%0 = BUFFER",
        code=packed("k:\n\tvmulps\n", "k:\n\tvmulss\n"),
        metrics={"iterations": (64, 512), "instructions": (10, 90), "vector_bits": (512, 0)},
        elements={"structure": 4, "exact": 60},
        old=artefact("  a = b - c;", texts=(("expand", "first"),)),
        new=artefact("  a = c - b;", texts=(("expand", "second"),)),
    )
    results = [
        staged,
        changed(
            2,
            new="  a = b * c;",
            numerics=Numerics.EXACT,
            metrics={"iterations": (64, 32), "spills": (4, 0)},
        ),
        crashed(3, reason=EVIL + TURNED),
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
    page.click("section.counts button[data-outcome=code]")
    assert shown(page) == "1 to 2 of 2"
    page.click("section.counts button[data-outcome=code]")
    assert shown(page) == "1 to 100 of 10000"


def test_a_click_on_a_verdict_filters(page):
    page.click("section.counts button[data-numerics=wrong]")
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
    shown = {}
    for tab in opened_tabs(page, "c - b"):
        tab.click()
        rows = page.locator(".cluster[open] .diff tr").filter(visible=True)
        shown[tab.inner_text()] = rows.all_inner_texts()
    assert list(shown) == ["AST", "stage expand", "source", "asm"]
    assert shown["AST"] == ["ir 1", "%0 = BUFFER"]
    assert "first\tsecond" in shown["stage expand"]
    assert "  a = b - c;\t  a = c - b;" in shown["source"]
    assert any("vmulps" in row and "vmulss" in row for row in shown["asm"])


def opened_tabs(page, text):
    """The tabs of the one cluster whose source has `text`, all others closed."""
    for cluster in page.locator("details.cluster").all():
        is_wanted = cluster.evaluate("c => c.nextElementSibling.textContent").find(text) >= 0
        if is_wanted != cluster.evaluate("c => c.open"):
            cluster.locator("summary").click()
    return page.locator(".cluster[open] [role=tab]").all()


def test_differences_are_built_when_a_cluster_is_opened(page):
    assert page.locator("details.cluster:not([open]) .diff").count() == 0


def test_arrows_walk_the_levels_of_a_cluster(page):
    tabs = opened_tabs(page, "c - b")
    tabs[0].focus()
    page.keyboard.press("ArrowRight")
    assert tabs[1].get_attribute("aria-selected") == "true"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert tabs[-1].get_attribute("aria-selected") == "true"


def test_filters_combine_and_one_key_clears_them(page):
    page.click("section.counts button[data-outcome=code]")
    page.click("section.counts button[data-numerics=exact]")
    assert shown(page) == "1 to 1 of 1"
    assert page.inner_text("#filters") == "outcome code and numerics exact"
    page.keyboard.press("Escape")
    assert shown(page) == "1 to 100 of 10000"


def test_a_click_on_a_bar_filters(page):
    page.click('figure button[data-severity="structure"]')
    assert shown(page) == "1 to 1 of 1"


def test_a_click_on_a_target_filters(page):
    page.click('button[data-target="llvm/cpu"]')
    assert shown(page) == "1 to 1 of 1"


def test_the_table_of_metrics_has_a_line_for_each_that_differs(page):
    lines = page.locator("#metrics-table tbody tr").all_inner_texts()
    assert [line.split("\t")[0] for line in lines] == ["iterations", "vector_bits"]
    assert lines[0].split("\t")[2:] == ["2", "2", "1", "1", "128", "544", "\u00d72"]


def test_a_click_on_what_a_metric_hurt_shows_those_kernels_and_by_how_much(page):
    page.click('button[data-metric="iterations:hurt"]')
    assert shown(page) == "1 to 1 of 1"
    assert "64 \u2192 512 (\u00d78.00)" in page.inner_text("#records tbody")


def test_static_counts_of_other_loops_are_left_out_as_in_the_table(page):
    assert page.locator('button[data-metric^="instructions:"]').count() == 0
    assert page.locator('button[data-metric^="spills:"]').count() == 0


def test_a_chosen_row_shows_its_numbers(page):
    page.click('button[data-metric="iterations:hurt"]')
    page.locator("#records tbody tr").first.click()
    detail = page.inner_text("#detail")
    assert "instructions\t10 \u2192 90" in detail
    assert "wrong by\tstructure" in detail


def test_a_click_on_a_column_sorts_and_a_second_one_turns_it_round(page):
    first = page.locator("#records tbody tr:first-child td:nth-child(3)")
    page.click("th[data-column='2'] button")
    assert first.inner_text() == "llvm/cpu"
    page.click("th[data-column='2'] button")
    assert first.inner_text() == "opencl/opencl-1.2"
    assert page.get_attribute("th[data-column='2']", "aria-sort") == "descending"


def test_rows_of_an_outcome_come_worst_first_until_sorted(page):
    assert page.inner_text("#records tbody tr:first-child td:nth-child(4)") == "crash"


def test_text_of_a_corpus_stays_text(page):
    page.fill("#search", "example.invalid")
    assert EVIL in page.inner_text("#records tbody")
    assert page.locator("img").count() == 0


def test_no_text_turns_the_direction_of_another(page):
    page.fill("#search", "TURNED")
    assert shown(page) == "1 to 1 of 1"
    text = page.inner_text("body")
    assert "\\u202eTURNED" in text
    assert "\u202e" not in text
    assert "\\\\u202d" in text  # what looks like an escape was none


def test_counts_are_plotted(page):
    titles = page.locator("figcaption").all_inner_texts()
    assert titles == [
        "outcomes",
        "numerics",
        "worst element, in bounds",
        "worst element of wrong kernels",
        "elements",
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
