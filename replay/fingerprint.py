"""What need not be compiled again: records that were `same` under code that has not changed since.

A fingerprint covers all that could change a backend's sources: every module and data file that its
compiles could come to, the libraries that those import, the variables of the environment that they
name (reach.py). Comments, docstrings and layout do not count, unless code reads them. What is
remembered lies in the user's cache, by corpus, and counts only with its fingerprint. Records are
known by the digest of their bytes, so that one which is known need not be decoded.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import msgspec

from corpus import Stored
from replay.reach import SourceFile, Tree, digest_of, files_of
from replay.recompile import Mode
from replay.shard import WHOLE, Shard
from replay.toolchain import toolchain

_OURS = (
    "artefact.py",
    "capture/plain.py",
    "capture/records.py",
    "codec.py",
    "compare/diff.py",
    "compare/normalize/__init__.py",
    "compare/normalize/c.py",
    "compare/normalize/c_forms.py",
    "compare/normalize/llvm.py",
    "compare/normalize/text.py",
    "outcome.py",
    "phases/judge.py",
    "recompile.py",
    "subject.py",
)
_KEPT = 12  # tables of one corpus, each of a backend and mode: some branches, and a copy


class Known(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One record that was `same`: the digest of its bytes, and what reports say of it."""

    digest: bytes
    name: str
    target: str
    test_id: str | None


class _Table(msgspec.Struct):
    """`records` is Known by key, encoded: most tables are of other code, and not looked into.

    `file` names the bytes of a whole corpus whose records of this backend are all among them.
    """

    backend: str
    records: msgspec.Raw
    file: bytes = b""


class _Cache(msgspec.Struct):
    """The file: sources by raw digest, tables by fingerprint, newest last, and digests of trees."""

    sources: dict[str, SourceFile] = {}
    tables: dict[str, _Table] = {}
    started: list[str] = []  # trees of which workers have been started, newest last


_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_decode_cache = msgspec.msgpack.Decoder(_Cache).decode
_decode_records = msgspec.msgpack.Decoder(dict[str, Known]).decode


class Fingerprints:
    """Names all that could change what the backends of a compiler answer."""

    def __init__(self, tree: Tree, mode: Mode, environ: Mapping[str, str]) -> None:
        self._tree = tree
        self._mode = mode
        self._environ = environ
        self._found: dict[str, str] = {}

    def of(self, backend: str) -> str:
        """Name all that could change the sources of a backend."""
        if backend not in self._found:
            reached = self._tree.reached_by(backend)
            named = {*reached.variables, *filter(_is_of_python, self._environ)}
            self._found[backend] = digest_of(
                {
                    "backend": backend,
                    "mode": self._mode.value,
                    "files": reached.files,
                    "ours": self._ours,
                    "libraries": toolchain(reached.libraries),
                    "environ": {n: self._environ[n] for n in named if n in self._environ},
                }
            )
        return self._found[backend]

    @cached_property
    def _ours(self) -> Mapping[str, str]:
        """Digests of our own files that ask the compiler and compare its answers."""
        here = Path(__file__).parent
        return {name: self._tree.read(str(here / name)).digest for name in _OURS}


def _is_of_python(variable: str) -> bool:
    """Whether it could change what Python does in a worker, which has a hash seed of its own."""
    return variable.startswith("PYTHON") and variable != "PYTHONHASHSEED"


class Memory:
    """Knows which records need no compile. Owned by one replay; `save` writes what it learned."""

    def __init__(self, path: Path, compiler: Path, mode: Mode, environ: Mapping[str, str]) -> None:
        self._path = path
        self._cache = _load(path)
        self._sources_before = len(self._cache.sources)
        self._tree = Tree(compiler, self._cache.sources)
        self._is_started = False
        self.fingerprints = Fingerprints(self._tree, mode, environ)
        self._known: dict[str, Known] = {}
        self._learned: dict[str, dict[str, Known]] = {}  # by backend
        self._forgotten: set[str] = set()  # only asked
        self._file = b""
        tables = self._cache.tables.items()
        self._current = [t for name, t in tables if self.fingerprints.of(t.backend) == name]
        for table in self._current:
            self._known.update(_records(table))

    def all_of(
        self, keys: Iterable[str], file: Callable[[], bytes | None]
    ) -> dict[str, Known] | None:
        """What is known of every record of a corpus, if its file has the bytes of one that was the
        same as a whole; None where it has not, and each has to be looked at."""
        files = {table.file for table in self._current}
        if len(files) != 1 or files == {b""} or file() not in files:
            return None
        try:
            return {key: self._known[key] for key in keys}
        except KeyError:
            return None

    def find(self, key: str, digest: bytes) -> Known | None:
        """A record that was `same`, bytes and all, when the code that matters to it was as now."""
        known = self._known.get(key)
        return None if known is None or known.digest != digest else known

    def learn(self, stored: Stored, digest: bytes) -> None:
        """Remember that this record is `same`."""
        record = stored.record
        backend, profile = record.target.backend, record.target.profile
        self._learned.setdefault(backend, {})[stored.key] = Known(
            digest, record.name or "?", f"{backend}/{profile}", record.provenance.test_id
        )

    def has_started(self) -> bool:
        """Whether a worker was ever started on just this tree: if not, it may not even import."""
        return self._tree.digest in self._cache.started

    def note_start(self) -> None:
        """Remember that workers start on this tree."""
        self._is_started = True

    def settle(self, file: bytes) -> None:
        """Remember that all records of the corpus that has these bytes are `same`."""
        self._file = file

    def forget(self, key: str) -> None:
        """Undo `learn`, and all that earlier replays learned of the record under any code."""
        self._forgotten.add(key)

    def save(self) -> None:
        """Write the cache; a place that cannot be written costs the next replay time, no more."""
        names = {backend: self.fingerprints.of(backend) for backend in self._backends()}
        is_more = len(self._cache.sources) > self._sources_before or self._is_started
        if not (self._learned or self._forgotten or self._file or is_more):
            return
        cache = _load(self._path)  # anew: another replay may have saved since
        cache.sources |= self._cache.sources
        if self._learned or self._is_started:
            older = [tree for tree in cache.started if tree != self._tree.digest]
            cache.started = [*older[1 - _KEPT :], self._tree.digest]
        self._save_tables(cache.tables, names)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            new = self._path.with_suffix(f".{os.getpid()}.new")  # another replay may save as well
            new.write_bytes(msgspec.msgpack.encode(cache))
            new.replace(self._path)
        except OSError:
            return

    def _save_tables(self, tables: dict[str, _Table], names: Mapping[str, str]) -> None:
        """Add what was learned, and take away what was forgotten; `names` are fingerprints."""
        for backend, learned in self._learned.items():
            before = tables.pop(names[backend], None)
            known = {} if before is None else _records(before)
            records = msgspec.Raw(_encode({**known, **learned}))
            tables[names[backend]] = _Table(backend, records)
        for name in names.values() if self._file else ():
            if name in tables:
                tables[name].file = self._file
        while len(tables) > _KEPT:
            del tables[next(iter(tables))]
        for fingerprint, table in tables.items() if self._forgotten else ():
            tables[fingerprint] = _without(table, self._forgotten)

    def _backends(self) -> list[str]:
        """All that records of the corpus were looked up of, or learned."""
        return list(dict.fromkeys([*self._learned, *(table.backend for table in self._current)]))


def cache_path(
    environ: Mapping[str, str], corpus: Path, shard: Shard = WHOLE, question: str = ""
) -> Path | None:
    """Where what is known of a corpus or shard lies, or what a replay of it has found until now.
    None where the environment names no such place."""
    base = environ.get("XDG_CACHE_HOME") or environ.get("HOME", "") + "/.cache"
    if not base.startswith("/") or base == "/.cache":
        return None
    part = "" if shard == WHOLE else f" --shard {shard}"
    text = f"{corpus.absolute()}{part}{question}".encode(errors="surrogateescape")
    kind = "journal" if question else "same"
    return Path(base) / "kernel-replay" / f"{sha256(text).hexdigest()[:24]}.{kind}"


def identity_of(trees: Iterable[Path], how: tuple[str, ...]) -> str:
    """Name all that the results of a replay depend on: compilers, our own code, libraries, and how
    it was asked to replay."""
    ours = Path(__file__).parents[1]
    roots = [*(tree / "compiler" for tree in trees), ours / "replay", ours / "corpus"]
    digests = [_digest_of_file(path) for root in roots for _, path in files_of(root)]
    return digest_of([digests, toolchain(), how])


def _digest_of_file(path: str) -> bytes:
    with open(path, "rb") as file:
        return sha256(file.read()).digest()


def _load(path: Path) -> _Cache:
    try:
        return _decode_cache(path.read_bytes())
    except (OSError, msgspec.MsgspecError, ValueError):
        return _Cache()


def _records(table: _Table) -> dict[str, Known]:
    try:
        return _decode_records(table.records)
    except (msgspec.MsgspecError, ValueError):
        return {}


def _without(table: _Table, forgotten: set[str]) -> _Table:
    known = _records(table)
    left = {key: known[key] for key in known if key not in forgotten}
    return _Table(table.backend, msgspec.Raw(_encode(left)))
