"""How long the HTML report takes to load in headless Chromium: python -m benchmarks.html_page.

10,000 kernels that all changed, in 60 ways, each with metrics: more than any page should have to
show. Timed from the navigation to the first row that can be read, in pages of their own, in turns
with an empty page: on a busy machine that one is slow as well.
"""

import shutil
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from corpus import Opt
from replay.artefact import Artefact
from replay.compare.cluster import with_clusters
from replay.gate import pass_or_fail, with_growth
from replay.outcome import Facet, Numerics, Outcome, Result
from replay.policy import DEFAULT
from replay.reports.html import render
from replay.reports.model import Report

RECORDS, WAYS, ROUNDS = 10_000, 60, 7
_EMPTY = "data:text/html,<table id=records><tbody><tr><td>a</table>"
_LINES = 120  # of each source


def main() -> None:
    """Print the size of the page, the time to write it, and the times to load it."""
    report = _report()
    started = time.perf_counter()
    page = render(report)
    written_s = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "report.html"
        path.write_text(page, encoding="utf-8")
        pairs = _loads(path.as_uri())
    print(f"records {RECORDS}, page {len(page) / 1e6:.1f} MB, made in {written_s:.2f} s")
    for name, seconds in zip(("report", "empty page"), zip(*pairs, strict=True), strict=True):
        ordered = sorted(seconds)
        print(f"{name}: fastest {ordered[0]:.3f} s, median {ordered[len(ordered) // 2]:.3f} s")


def _loads(address: str) -> list[tuple[float, float]]:
    """Seconds until the first row is there, and those of a page with one row, in turns."""
    found: list[tuple[float, float]] = []
    with sync_playwright() as playwright:
        path = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for _ in range(ROUNDS):
            found.append((_load(browser, address), _load(browser, _EMPTY)))
        browser.close()
    return found


def _load(browser: Browser, address: str) -> float:
    page = browser.new_page()
    started = time.perf_counter()
    page.goto(address, wait_until="load")
    page.wait_for_selector("#records tbody tr")
    seconds = time.perf_counter() - started
    page.close()
    return seconds


def _report() -> Report:
    results = with_growth([_result(number) for number in range(RECORDS)], DEFAULT)
    marked, clusters = with_clusters(results)
    return Report(
        corpus="kernels",
        mode="pinned",
        baseline="the recorded output",
        results=marked,
        clusters=clusters,
        gate=pass_or_fail(marked, DEFAULT),
    )


def _result(number: int) -> Result:
    way = number % WAYS
    lines = [f"  %v{n} = add i32 %v{n - 1}, {n}" for n in range(1, _LINES)]
    other = [*lines[:way], f"  %w = mul i32 %v{way}, {way}.{'x' * way}", *lines[way + 1 :]]
    code = dict.fromkeys(("instructions", "loads", "scalar"), (40 + way, 40 + number % 7))
    return Result(
        key=f"{number * 0x9E3779B97F4A7C15 % 2**256:064x}",
        outcome=Outcome.CODE,
        name=f"r_{number}_16",
        target="llvm/cpu" if number % 2 else "opencl/opencl-1.2",
        reason="source",
        facets=(Facet.SOURCE,),
        stage=f"pass{way}",
        numerics=Numerics.BOUNDED,
        of_bound=way / WAYS,
        elements={"exact": 900, "bounded": 100},
        metrics=code,
        old=_artefact("\n".join(lines)),
        new=_artefact("\n".join(other)),
    )


def _artefact(source: str) -> Artefact:
    return Artefact(
        name="r",
        source=source,
        applied=(Opt("UPCAST", {"axis": "g0", "amount": 4}),),
        launch=None,
        arguments=(),
        estimates=None,
        rewrites=9,
    )


if __name__ == "__main__":
    main()
