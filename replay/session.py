"""One replay from a request to a report: what `run` prints, and `accept` works on."""

import importlib
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from corpus import Reader, Selection, name_of, open_reader, select
from replay import metrics
from replay.approvals import read_ledger
from replay.capture.environment import without_capture
from replay.compare.cluster import with_clusters
from replay.errors import ReplayError, UsageError
from replay.fingerprint import Memory, cache_path, identity_of
from replay.gate import pass_or_fail, with_approvals, with_growth
from replay.invocation import Invocation
from replay.isolation.workers import Crew, Limits, run_jobs
from replay.outcome import Outcome, Result
from replay.phases.fresh import compare
from replay.phases.journal import Journal
from replay.phases.plan import Extent, Plan, Progress, Replayed, Runner, Source
from replay.phases.run import replay
from replay.policy import Policy, read_policy
from replay.recompile import Mode
from replay.reports.model import Report, quoted
from replay.shard import WHOLE, Shard
from replay.signals import handling
from replay.subject import why_no_subject
from replay.toolchain import differences, toolchain
from replay.tree import ROOT

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
    across: bool = False
    checks_memory: bool = False
    times: bool = False
    jobs: int = 1
    limits: Limits = _LIMITS
    max_changes: int | None = None
    time_budget_s: float | None = None
    policy: Path = Path("pyproject.toml")
    skip_known: bool = False
    subject: str | None = None  # another compiler than ours, see replay/subject.py
    shard: Shard = WHOLE
    resume: bool = False
    executor: str | None = None

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
            return f"fresh capture {name_of(self.fresh)}"
        return f"revision {self.against}" if self.against else "the recorded output"


def replay_corpus(request: Request, invocation: Invocation, progress: Progress) -> Report:
    """Do what `request` says, judge it by its policy, and report."""
    policy = read_policy(request.policy)
    request = _with_subject(request, policy)
    with ExitStack() as stack:
        reader = stack.enter_context(open_reader(request.corpus))
        source, total = _chosen(reader, request)
        if request.fresh is not None:
            found = compare(source, stack.enter_context(open_reader(request.fresh)))
            found.damage = reader.why_damaged()
        else:
            plan = stack.enter_context(planned(request, invocation))
            with handling(signal.SIGTERM, signal.default_int_handler):  # as ctrl-C: CI sends it
                found = replay(source, plan, progress)
            found.damage = () if found.is_file_known else reader.why_damaged()
            if plan.memory is not None:
                _remember(plan.memory, source, found)
        return _report(request, invocation, policy, reader, found, total)


def _remember(memory: Memory, source: Source, found: Replayed) -> None:
    """Keep what is known now; of the whole corpus, too, if all of it was looked at and is good."""
    is_whole = source.chosen is None and found.is_read and not found.damage
    is_good = is_whole and all(each.outcome is Outcome.SAME for each in found.results.values())
    if is_good and not found.is_file_known and (digest := source.reader.digest()) is not None:
        memory.settle(digest)
    memory.save()


@contextmanager
def planned(request: Request, invocation: Invocation) -> Iterator[Plan]:
    """The plan of a request; the worktree that it needs lives as long as the with block."""
    with ExitStack() as stack:
        crew = crew_for(request, invocation)
        old: Crew | None = None
        if request.against is not None:
            old = _older(request, invocation, crew, stack)
        trees = [each.paths[0] if each.paths else Path(ROOT) for each in (crew, old) if each]
        yield Plan(
            crew=crew,
            old=old,
            mode=request.mode,
            verify=request.verify,
            determinism=request.determinism,
            across=request.across,
            times=request.times,
            memory_driver=_memory_driver(crew) if request.checks_memory else None,
            max_changes=request.max_changes,
            time_budget_s=request.time_budget_s,
            memory=_memory(request, invocation, trees[0]),
            journal=_journal(request, invocation, trees),
            run_jobs=stack.enter_context(_runner(request)),
        )


def _memory_driver(crew: Crew) -> Path:
    found: Path = importlib.import_module("replay.phases.memory").find_driver(crew.environ)
    return found


def _older(request: Request, invocation: Invocation, crew: Crew, stack: ExitStack) -> Crew:
    """Workers with the compiler of the revision to compare with."""
    older = importlib.import_module("replay.older")  # most replays need none
    if request.subject is not None:
        return replace(crew, subject=older.subject_at(request.against, request.subject, stack))
    inside = crew.paths[0] if crew.paths else Path(ROOT)
    tree: Path = older.compiler_at(request.against, inside, stack)
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


def _memory(request: Request, invocation: Invocation, tree: Path) -> Memory | None:
    """What is known from earlier replays; nothing where the baseline is another compiler's."""
    path = cache_path(invocation.environ, request.corpus, request.shard)
    if not request.skip_known or request.against is not None or path is None:
        return None
    if request.subject is not None:
        return None  # the fingerprint is one of our compiler's code
    return Memory(path, tree / "compiler", request.mode, without_capture(invocation.environ))


def _journal(request: Request, invocation: Invocation, trees: list[Path]) -> Journal | None:
    """Where this replay notes what it finds; a place of its own for each shard and question."""
    if request.subject is not None:
        if request.resume:
            raise UsageError("--resume: not with --subject, whose code has no fingerprint")
        return None
    question = f" run {request.options}"
    path = cache_path(invocation.environ, request.corpus, request.shard, question)
    if path is None:
        if request.resume:
            raise UsageError("--resume: HOME names no place to keep results; set XDG_CACHE_HOME")
        return None
    how = (request.options, request.verify.value, request.determinism.value, str(request.limits))
    return Journal(path, lambda: identity_of(trees, how), resumes=request.resume)


@contextmanager
def _runner(request: Request) -> Iterator[Runner]:
    """What runs jobs: a cluster, where one is named."""
    if request.executor is None:
        yield run_jobs
        return
    try:
        dask_executor = importlib.import_module("replay.dask_executor")  # an extra, and a second
    except ModuleNotFoundError as error:
        raise UsageError(f"--executor: {error}; pip install kernel-replay[cluster]") from None
    with dask_executor.connected(request.executor) as runner:
        yield runner


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


def _chosen(reader: Reader, request: Request) -> tuple[Source, int]:
    """What to replay, and how many records there are in all."""
    total = len(reader)
    if request.selection != Selection():
        keys = [item.key for item in select(reader, request.selection)]
        if not keys:
            raise ReplayError(
                f"corpus {name_of(request.corpus)}: no record was chosen; see `replay list`"
            )
        chosen = tuple(key for key in keys if request.shard.has(key))
        return Source(reader, len(chosen), chosen), total
    if request.shard == WHOLE:
        return Source(reader, total), total
    count = sum(map(request.shard.has, reader.keys()))
    return Source(reader, count, shard=request.shard), total


def _report(
    request: Request,
    invocation: Invocation,
    policy: Policy,
    reader: Reader,
    found: Replayed,
    total: int,
) -> Report:
    ledger = read_ledger(request.policy.parent / policy.approvals, invocation.today)
    grown = with_growth(found.ordered(), policy)
    results, clusters = with_clusters(with_approvals(grown, ledger))
    is_part = request.fresh is None and len(results) < total
    is_shard = request.shard != WHOLE
    gate = pass_or_fail(
        results,
        policy,
        lost=reader.lost,
        damage=found.damage,
        is_interrupted=found.is_interrupted,
        is_part=is_shard,
    )
    notes = [*_notes(found, is_kept=request.fresh is None), *_missing_tool(results, invocation)]
    if is_shard and not results:
        notes.append(f"no record that was asked for lies in shard {request.shard}")
    return Report(
        corpus=name_of(request.corpus),
        mode=request.mode.value,
        baseline=request.baseline,
        results=results,
        clusters=clusters,
        gate=gate,
        compiles=found.compiles,
        selected_from=total if is_part else None,
        notes=tuple(notes),
        is_interrupted=found.is_interrupted,
        shard=str(request.shard) if is_shard else None,
        corpus_digest=_digest_of_keys(reader) if is_shard else None,
        lost=reader.lost,
        damage=found.damage,
        options=request.options,
    )


def _digest_of_keys(reader: Reader) -> str:
    """Name a corpus by its questions: the shards that are put together must be of one."""
    digest = sha256()
    keys = reader.keys()
    for key in keys:
        digest.update(key.encode())
    return digest.hexdigest()


def _notes(found: Replayed, *, is_kept: bool) -> list[str]:
    notes = [*differences(found.toolchains, toolchain()), *found.notes]
    if found.known:
        notes.append(f"{found.known} records not compiled: the code that makes them is unchanged")
    if found.resumed:
        notes.append(f"{found.resumed} records had been compiled before the interruption")
    if found.is_interrupted and is_kept:
        notes.append("run it again with --resume to go on from here")
    return notes


def _missing_tool(results: Sequence[Result], invocation: Invocation) -> list[str]:
    """One line where cycles of changed machine code are missing for want of a tool."""
    is_wanted = any(result.machine_code == "differs" for result in results)
    if not is_wanted or metrics.find_tool(invocation.environ) is not None:
        return []
    return ["no cycles: llvm-mca is not installed (apt install llvm)"]
