"""One replay from a request to a report: what `run` prints, and `accept` works on."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from corpus import Item, Reader, Selection, open_reader, select
from replay.approvals import read_ledger
from replay.cluster import with_clusters
from replay.environment import without_capture
from replay.errors import UsageError
from replay.fingerprint import Memory, cache_path
from replay.fresh import compare
from replay.gate import pass_or_fail, with_approvals
from replay.invocation import Invocation
from replay.patched import compile_ahead
from replay.policy import Policy, read_policy
from replay.recompile import Mode
from replay.reports.model import Report, quoted
from replay.run import Extent, Plan, Progress, Replayed, Source, replay
from replay.subject import why_no_subject
from replay.toolchain import differences, toolchain
from replay.worker import ROOT
from replay.workers import Crew, Limits
from replay.worktree import checked_out, find_repository

_ALL, _LIMITS = Selection(), Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """All that a replay is asked for."""

    corpus: Path
    selection: Selection = _ALL
    compiler: Path | None = None
    against: str | None = None
    fresh: Path | None = None
    mode: Mode = Mode.PINNED
    verify: Extent = Extent.CHANGED
    determinism: Extent = Extent.CHANGED
    jobs: int = 1
    limits: Limits = _LIMITS
    max_changes: int | None = None
    time_budget_s: float | None = None
    policy: Path = Path("pyproject.toml")
    skip_known: bool = False
    subject: str | None = None  # another compiler than ours, see replay/subject.py

    @property
    def options(self) -> str:
        """What a command that shows more must repeat."""
        parts = [f"--mode {self.mode.value}"] if self.mode is not Mode.PINNED else []
        if self.compiler is not None:
            parts.append(f"--compiler {quoted(str(self.compiler))}")
        if self.against is not None:
            parts.append(f"--against {quoted(self.against)}")
        if self.subject is not None:
            parts.append(f"--subject {quoted(self.subject)}")
        return " ".join(parts)

    @property
    def baseline(self) -> str:
        if self.fresh is not None:
            return f"fresh capture {self.fresh}"
        return f"revision {self.against}" if self.against else "the recorded output"


def replay_corpus(request: Request, invocation: Invocation, progress: Progress) -> Report:
    """Do what `request` says, judge it by its policy, and report."""
    policy = read_policy(request.policy)
    request = _with_subject(request, policy)
    with ExitStack() as stack:
        reader = stack.enter_context(open_reader(request.corpus))
        source, total = _chosen(reader, request.selection)
        if request.fresh is not None:
            found = compare(source, stack.enter_context(open_reader(request.fresh)))
        else:
            plan = stack.enter_context(planned(request, invocation))
            found = replay(source, plan, progress)
            if plan.memory is not None:
                plan.memory.save()
        return _report(request, invocation, policy, reader, found, total)


@contextmanager
def planned(request: Request, invocation: Invocation) -> Iterator[Plan]:
    """The plan of a request; the worktree that it needs lives as long as the with block."""
    with ExitStack() as stack:
        crew = crew_for(request, invocation)
        old: Crew | None = None
        if request.against is not None:
            old = _older(request, invocation, crew, stack)
        yield Plan(
            crew=crew,
            old=old,
            mode=request.mode,
            verify=request.verify,
            determinism=request.determinism,
            max_changes=request.max_changes,
            time_budget_s=request.time_budget_s,
            memory=_memory(request, invocation, crew),
        )


def _older(request: Request, invocation: Invocation, crew: Crew, stack: ExitStack) -> Crew:
    """Workers with the compiler of the revision to compare with."""
    assert request.against is not None
    if request.subject is not None:
        place, _, attribute = request.subject.rpartition(":")
        if not place.endswith(".py"):
            raise UsageError("--against: name the subject by its file, which has revisions")
        file = Path(place).resolve()
        repository = find_repository(file.parent)
        tree = stack.enter_context(checked_out(repository, request.against))
        older = f"{tree / file.relative_to(repository.resolve())}:{attribute}"
        return replace(crew, subject=older)
    repository = find_repository(crew.paths[0] if crew.paths else Path(ROOT))
    tree = stack.enter_context(checked_out(repository, request.against))
    compile_ahead(tree)
    return crew_for(request, invocation, compiler=tree)


def _with_subject(request: Request, policy: Policy) -> Request:
    """The subject that the command line names, else that of the policy, which lies beside it."""
    name = request.subject
    if name is None and policy.subject is not None:
        place, colon, attribute = policy.subject.rpartition(":")
        is_file = place.endswith(".py")
        name = f"{request.policy.parent / place if is_file else place}{colon}{attribute}"
    if name is None:
        return request
    if (why := why_no_subject(name)) is not None:
        raise UsageError(f"subject {name!r}: {why}")
    return replace(request, subject=name)


def _absolute(name: str | None) -> str | None:
    """A subject as workers, which run in directories of their own, find it."""
    place, colon, attribute = (name or "").rpartition(":")
    return f"{Path(place).absolute()}{colon}{attribute}" if place.endswith(".py") else name


def _memory(request: Request, invocation: Invocation, crew: Crew) -> Memory | None:
    """What is known from earlier replays; nothing where the baseline is another compiler's."""
    path = cache_path(invocation.environ, request.corpus)
    if not request.skip_known or request.against is not None or path is None:
        return None
    if request.subject is not None:
        return None  # the fingerprint is one of our compiler's code
    root = crew.paths[0] if crew.paths else Path(ROOT)
    return Memory(path, root / "compiler", request.mode)


def crew_for(request: Request, invocation: Invocation, *, compiler: Path | None = None) -> Crew:
    """Workers with the compiler of the request, or with another one."""
    chosen = compiler or request.compiler
    return Crew(
        environ=without_capture(invocation.environ),
        size=request.jobs,
        limits=request.limits,
        paths=(compiler_root(chosen),) if chosen else (),
        subject=_absolute(request.subject),
    )


def compiler_root(path: Path) -> Path:
    """The directory to search for the package `compiler`; `path` may be the package itself."""
    path = path.absolute()
    if (path / "compiler" / "__init__.py").is_file():
        return path
    if path.name == "compiler" and (path / "__init__.py").is_file():
        return path.parent
    raise UsageError(f"compiler {path}: holds no package `compiler`; give a directory that does")


def _chosen(reader: Reader, selection: Selection) -> tuple[Source, int]:
    total = len(reader)
    if selection == Selection():
        keys = tuple(reader.keys())
    else:
        keys = tuple(item.key for item in select(reader, selection))
    return Source(keys, lambda key: _read(reader, key)), total


def _read(reader: Reader, key: str) -> Item:
    item = reader.read(key)
    assert item is not None
    return item


def _report(
    request: Request,
    invocation: Invocation,
    policy: Policy,
    reader: Reader,
    found: Replayed,
    total: int,
) -> Report:
    ledger = read_ledger(request.policy.parent / policy.approvals, invocation.today)
    results, clusters = with_clusters(with_approvals(found.ordered(), ledger))
    is_part = request.fresh is None and len(results) < total
    return Report(
        corpus=str(request.corpus),
        mode=request.mode.value,
        baseline=request.baseline,
        results=results,
        clusters=clusters,
        gate=pass_or_fail(results, policy, lost=reader.lost, damage=reader.why_damaged()),
        compiles=found.compiles,
        selected_from=total if is_part else None,
        notes=tuple(_notes(found)),
        is_interrupted=found.is_interrupted,
        options=request.options,
    )


def _notes(found: Replayed) -> list[str]:
    notes = differences(found.toolchains, toolchain())
    if found.known:
        known = len(found.known)
        notes.append(f"{known} records not compiled: the code that makes them is unchanged")
    return notes
