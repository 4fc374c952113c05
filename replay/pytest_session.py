"""One test run under capture: attach, remember what ran, and judge at the end.

This process records what its own tests compile. Processes that it starts, xdist's workers among
them, record through the environment, as under `replay capture`.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path

import pytest

from compiler import subscribe, unsubscribe
from corpus import CorpusError, MissingCorpusError, open_reader, open_writer, refuse_store, url_of
from replay.capture.capturing import account
from replay.capture.environment import VARIABLE, Capture, with_capture
from replay.capture.link import Link
from replay.capture.observer import Observer
from replay.capture.recorder import Losses
from replay.errors import ReplayError
from replay.owner import hold
from replay.pytest_baseline import Scope, compare_with, judge_lines, update

NAME = "replay-session"
_NARROWING = ("keyword", "markexpr", "deselect", "lf", "stepwise", "ignore", "ignore_glob")


class Purpose(Enum):
    """What a run is for."""

    CAPTURE = "capture"
    CHECK = "check"
    UPDATE = "update"


def start(config: pytest.Config) -> None:
    """Begin to record; UsageError for options that cannot be meant, before any test runs."""
    purpose, corpus = _meant(config)
    if hasattr(config, "workerinput"):
        if VARIABLE not in _environ():
            raise pytest.UsageError("--replay-corpus: only xdist workers of this machine record")
        return  # it records since it was started: the controller's environment says so
    config.pluginmanager.register(Session(config, purpose, corpus), NAME)


def _meant(config: pytest.Config) -> tuple[Purpose, Path]:
    place = config.getoption("replay_corpus")
    is_check, is_update = (config.getoption(f"replay_{name}") for name in ("check", "update"))
    if not place:
        raise pytest.UsageError("--replay-check and --replay-update need --replay-corpus DIR")
    if is_check and is_update:
        raise pytest.UsageError("--replay-check and --replay-update exclude each other")
    corpus = Path(place) if url_of(place) else config.invocation_params.dir / place
    if is_check:
        _must_be_readable(corpus)
        return Purpose.CHECK, corpus
    _must_be_writable(corpus)
    if is_update:
        if corpus.exists():
            _must_be_readable(corpus)
        return Purpose.UPDATE, corpus
    if corpus.is_file():
        raise pytest.UsageError(f"--replay-corpus {place}: a file; records go into a directory")
    return Purpose.CAPTURE, corpus


def _must_be_readable(corpus: Path) -> None:
    try:
        with open_reader(corpus):
            return
    except MissingCorpusError:
        why = f"corpus {corpus}: does not exist; make it with --replay-update"
        raise pytest.UsageError(f"--replay-corpus: {why}") from None
    except CorpusError as error:
        raise pytest.UsageError(f"--replay-corpus: {error}") from None


def _must_be_writable(corpus: Path) -> None:
    try:
        refuse_store(corpus)
    except CorpusError as error:
        raise pytest.UsageError(f"--replay-corpus: {error}") from None


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What the end of a run shows: lines, and whether they are good news."""

    lines: tuple[str, ...]
    passed: bool


class Session:
    """Owns the capture of one run of pytest; pytest calls its hooks."""

    def __init__(self, config: pytest.Config, purpose: Purpose, corpus: Path) -> None:
        self._config = config
        self._purpose = purpose
        self._baseline = corpus
        self._directory = Path(tempfile.mkdtemp(prefix="replay-pytest-"))
        self._owner = hold(str(self._directory))
        self._losses = Losses(self._directory / "losses")
        self._fresh = corpus if purpose is Purpose.CAPTURE else self._directory / "fresh"
        self._ran: set[str] = set()  # only asked
        self._skipped: set[str] = set()  # likewise
        self._verdict: _Verdict | None = None
        self._detach = self._attach()

    def _attach(self) -> Callable[[], None]:
        environ = _environ()
        before = {name: environ.get(name) for name in (VARIABLE, "PYTHONPATH")}
        capture = Capture(str(self._directory), str(self._fresh.absolute()))
        try:
            open_writer(self._fresh).close()
        except CorpusError as error:
            raise pytest.UsageError(f"--replay-corpus: {error}") from None
        observer = Observer([Link(capture)], environ)
        subscribe(observer)
        environ.update(with_capture(environ, capture))

        def detach() -> None:
            unsubscribe(observer)
            for name, value in before.items():
                if value is None:
                    environ.pop(name, None)
                else:
                    environ[name] = value

        return detach

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember which tests ran; xdist's controller hears of them here as well."""
        is_skipped = report.skipped and not hasattr(report, "wasxfail")
        (self._skipped if is_skipped else self._ran).add(report.nodeid)

    @pytest.hookimpl(trylast=True)  # xdist's workers have ended by then
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Judge, and let the run fail where the verdict is bad."""
        try:
            self._verdict = self._judged(is_green=session.exitstatus == pytest.ExitCode.OK)
        except (CorpusError, ReplayError) as error:
            self._verdict = _Verdict((str(error),), passed=False)
        green = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if not self._verdict.passed and session.exitstatus in green:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the verdict."""
        if self._verdict is None:
            return
        terminalreporter.section("kernel replay")
        for line in self._verdict.lines[:-1]:
            terminalreporter.write_line(line)
        color = {"green": True} if self._verdict.passed else {"red": True}
        terminalreporter.write_line(self._verdict.lines[-1], bold=True, **color)

    def pytest_unconfigure(self) -> None:
        """Leave everything as it was."""
        self._detach()
        shutil.rmtree(self._directory, ignore_errors=True)
        if self._owner is not None:
            os.close(self._owner)

    def _judged(self, *, is_green: bool) -> _Verdict:
        lost, why = account(self._fresh, self._losses)
        if lost:
            return _Verdict((f"{lost} records were lost: {why}",), passed=False)
        if self._purpose is Purpose.CAPTURE:
            with open_reader(self._fresh, allow_empty=True) as reader:
                return _Verdict((f"{len(reader)} records in {self._baseline}",), passed=True)
        if self._purpose is Purpose.UPDATE:
            return self._updated(is_green=is_green)
        policy = self._config.rootpath / "pyproject.toml"
        report = compare_with(self._baseline, self._fresh, self._scope(), policy, date.today())
        return _Verdict(judge_lines(report), passed=report.exit_code == 0)

    def _updated(self, *, is_green: bool) -> _Verdict:
        if not is_green:
            return _Verdict(("no baseline is renewed: not every test passed",), passed=False)
        done = update(self._baseline, self._fresh, self._scope())
        return _Verdict((f"{self._baseline}: {done.sentence}",), passed=True)

    def _scope(self) -> Scope:
        config = self._config
        places, is_outside = _places(config)
        return Scope(
            ran=frozenset(self._ran - self._skipped),
            skipped=frozenset(self._skipped),
            places=places,
            is_narrowed=is_outside
            or any(config.getoption(name, None) for name in (*_NARROWING, "pyargs")),
        )


def _places(config: pytest.Config) -> tuple[tuple[str, ...], bool]:
    """The beginnings of test ids that the command line names; and whether one has no such form."""
    places: list[str] = []
    for argument in config.args:
        path, parts, test = argument.partition("::")
        try:
            place = (config.invocation_params.dir / path).resolve().relative_to(config.rootpath)
        except ValueError:
            return (), True
        places.append(("" if place == Path() else place.as_posix()) + parts + test)
    return tuple(places), False


def _environ() -> "os._Environ[str]":
    return os.environ  # noqa: TID251  # children record by it; pytest has no cli module of ours
