"""A bisection from a request to its answer: worktrees, workers and the table of what was found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from corpus import Selection, Stored, name_of, open_reader, select
from replay.bisect.history import Commit, History, read_history
from replay.bisect.judging import Criterion, Judging
from replay.bisect.search import Cell, Found, Kind, Search
from replay.errors import ReplayError, UsageError
from replay.isolation.workers import Crew, Limits
from replay.patched import compile_ahead
from replay.phases.plan import Progress
from replay.recompile import Mode
from replay.session import compiler_root
from replay.tree import ROOT
from replay.worktree import checked_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """All that a bisection is asked for."""

    corpus: Path
    good: str
    bad: str
    selection: Selection
    criterion: Criterion = Criterion.SOURCE
    mode: Mode = Mode.PINNED
    repository: Path = Path(ROOT)
    jobs: int = 1
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisected:
    """The answer. `found` has every kernel that is bad at the end and good at the start; `unknown`
    says why nothing can be said of others; `table` is commit -> key -> cell."""

    request: Request
    history: History
    kernels: Mapping[str, Stored]
    found: Mapping[str, Found]
    unknown: Mapping[str, str]
    table: Mapping[str, Mapping[str, Cell]]

    @property
    def is_answered(self) -> bool:
        """Whether something was bad, and the first bad commit of all that was is known."""
        return bool(self.found) and all(found.is_exact for found in self.found.values())

    @property
    def by_commits(self) -> dict[tuple[Commit, ...], list[str]]:
        """The kernels that each commit, or group of commits, was the first to make bad."""
        groups: dict[tuple[Commit, ...], list[str]] = {}
        for key, found in sorted(self.found.items(), key=lambda item: (item[1].first, item[0])):
            commits = self.history.commits[found.first : found.last + 1]
            groups.setdefault(commits, []).append(key)
        return groups


def bisect(request: Request, environ: Mapping[str, str], progress: Progress) -> Bisected:
    """Find the first bad commit of every chosen kernel. Raises ReplayError if none can be asked."""
    history = read_history(request.repository, request.good, request.bad)
    kernels = _chosen(request)
    judge = _Judge(request, history, kernels, environ, progress)
    at_good, at_bad = _ends(judge, list(kernels))
    unknown = {key: cell.text for key, cell in at_bad.items() if cell.kind is Kind.SKIPPED}
    for key, cell in at_good.items():
        if cell.kind is not Kind.GOOD:
            unknown[key] = f"{cell.kind.value} at the good commit: {cell.text}"
    changed = [key for key in _of_kind(at_bad, Kind.BAD) if at_good[key].kind is Kind.GOOD]
    last = len(history.commits) - 1
    found = Search(changed, last, judge.ask).run()
    return Bisected(
        request=request,
        history=history,
        kernels=kernels,
        found=found,
        unknown=unknown,
        table=judge.table,
    )


def _ends(judge: "_Judge", keys: Sequence[str]) -> tuple[dict[str, Cell], dict[str, Cell]]:
    """What the good and the bad commit make of the kernels. Running costs much: there the good
    commit is asked of the bad ones alone."""
    last = len(judge.history.commits) - 1
    if judge.request.criterion is Criterion.NUMERICS:
        at_bad = judge.ask(last, keys)
        return judge.ask(0, _of_kind(at_bad, Kind.BAD)), at_bad
    at_good = judge.ask(0, keys)
    judge.good = {key: cell.text for key, cell in at_good.items()}
    return at_good, judge.ask(last, _of_kind(at_good, Kind.GOOD))


def _of_kind(cells: Mapping[str, Cell], kind: Kind) -> list[str]:
    return [key for key, cell in cells.items() if cell.kind is kind]


def _chosen(request: Request) -> dict[str, Stored]:
    with open_reader(request.corpus) as reader:
        items = [item for item in select(reader, request.selection) if isinstance(item, Stored)]
    if not items:
        raise ReplayError(f"corpus {name_of(request.corpus)}: no readable record is chosen")
    return {item.key: item for item in items}


@dataclass(slots=True)
class _Judge:
    """Asks commits, each in a worktree of its own, and keeps the table. Owned by `bisect`."""

    request: Request
    history: History
    kernels: Mapping[str, Stored]
    environ: Mapping[str, str]
    progress: Progress
    table: dict[str, dict[str, Cell]] = field(default_factory=dict)
    good: Mapping[str, str] = field(default_factory=dict)

    def ask(self, number: int, keys: Sequence[str]) -> dict[str, Cell]:
        """What commit `number` makes of these kernels."""
        if not keys:
            return {}
        commit = self.history.commits[number]
        self.progress("commits asked", len(self.table), len(self.table) + 1)
        kernels = [self.kernels[key] for key in keys]
        with checked_out(self.history.repository, commit.name) as tree:
            cells = self._judge(tree / self.history.inside, kernels)
        self.table[commit.name] = cells
        return cells

    def _judge(self, tree: Path, kernels: Sequence[Stored]) -> dict[str, Cell]:
        try:
            root = compiler_root(tree)
        except UsageError:
            return {each.key: Cell(Kind.SKIPPED, "it holds no compiler") for each in kernels}
        if self.request.jobs > 1:
            compile_ahead(root)
        crew = Crew(
            environ=self.environ,
            size=min(self.request.jobs, len(kernels)),
            limits=self.request.limits,
            paths=(root,),
        )
        judging = Judging(self.request.criterion, self.request.mode)
        return judging.judge(kernels, crew, self.good)
