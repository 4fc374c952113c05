"""What need not be compiled again: records that were `same` under code that has not changed since.

A fingerprint covers every module and data file of the compiler that could change a backend's
sources: all but the frontend and the other backends; and of the libraries those that this backend
could use. Comments, docstrings and layout do not count. What is remembered lies in the user's
cache, by corpus, and counts only with its fingerprint. Records are known by the digest of their
bytes, so that one which is known need not be decoded.
"""

import ast
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from types import CodeType

import msgspec

from corpus import Stored
from replay.recompile import Mode
from replay.shard import WHOLE, Shard
from replay.toolchain import toolchain

_OURS = (
    "artefact.py",
    "codec.py",
    "diff.py",
    "judge.py",
    "normalize.py",
    "outcome.py",
    "plain.py",
    "recompile.py",
    "records.py",
    "subject.py",
)
_ASIDE = ("frontend/", "onnx/", "explain/", "onnx.py", "explain.py")  # ask, and answer nothing
_LIBRARY_OF = {"llvmlite": "llvm", "pyopencl": "opencl"}  # others matter to every backend
# Of a code object: all that is executed, and not where it stands.
_PARTS = (
    "co_name",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_flags",
    "co_code",
    "co_consts",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
    "co_exceptiontable",
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
    """The file: normalised digests by raw digest, and tables by fingerprint, newest last."""

    normalized: dict[str, str] = {}
    tables: dict[str, _Table] = {}


_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_decode_cache = msgspec.msgpack.Decoder(_Cache).decode
_decode_records = msgspec.msgpack.Decoder(dict[str, Known]).decode


class Fingerprints:
    """Names all that could change what the backends of a compiler answer."""

    def __init__(self, compiler: Path, mode: Mode, normalized: dict[str, str]) -> None:
        self._compiler = compiler
        self._mode = mode
        self._normalized = normalized  # digests of sources seen before; the caller's, and added to
        self._found: dict[str, str] = {}

    def of(self, backend: str) -> str:
        """Name all that could change the sources of a backend."""
        if backend not in self._found:
            parts = {**_libraries(backend), "backend": backend, "mode": self._mode.value}
            others = _other_backends(self.files, backend)
            for name, digest in self.files.items():
                if not name.startswith((*_ASIDE, *others)):
                    parts[name] = digest
            self._found[backend] = sha256(_encode(parts)).hexdigest()
        return self._found[backend]

    @cached_property
    def files(self) -> Mapping[str, str]:
        """Digests of all files of the compiler, and of ours that ask it, by relative name."""
        here = Path(__file__).parent
        ours = {f"replay/{name}": self._digest(str(here / name)) for name in _OURS}
        return {name: self._digest(path) for name, path in _files(self._compiler)} | ours

    def _digest(self, path: str) -> str:
        with open(path, "rb") as file:
            data = file.read()
        raw = sha256(data).hexdigest()
        if not path.endswith(".py"):
            return raw
        if raw not in self._normalized:
            self._normalized[raw] = normalized_digest(data)
        return self._normalized[raw]


class Memory:
    """Knows which records need no compile. Owned by one replay; `save` writes what it learned."""

    def __init__(self, path: Path, compiler: Path, mode: Mode) -> None:
        self._path = path
        self._cache = _load(path)
        self._normalized_before = len(self._cache.normalized)
        self.fingerprints = Fingerprints(compiler, mode, self._cache.normalized)
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

    def settle(self, file: bytes) -> None:
        """Remember that all records of the corpus that has these bytes are `same`."""
        self._file = file

    def forget(self, key: str) -> None:
        """Undo `learn`, and all that earlier replays learned of the record under any code."""
        self._forgotten.add(key)

    def save(self) -> None:
        """Write the cache; a place that cannot be written costs the next replay time, no more."""
        names = {backend: self.fingerprints.of(backend) for backend in self._backends()}
        is_more = len(self._cache.normalized) > self._normalized_before
        if not (self._learned or self._forgotten or self._file or is_more):
            return
        cache = _load(self._path)  # anew: another replay may have saved since
        cache.normalized |= self._cache.normalized
        tables = cache.tables
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
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            new = self._path.with_suffix(f".{os.getpid()}.new")  # another replay may save as well
            new.write_bytes(msgspec.msgpack.encode(cache))
            new.replace(self._path)
        except OSError:
            return

    def _backends(self) -> list[str]:
        """All that records of the corpus were looked up of, or learned."""
        return list(dict.fromkeys([*self._learned, *(table.backend for table in self._current)]))


@lru_cache(maxsize=1024)
def normalized_digest(source: bytes) -> str:
    """The digest of what Python makes of a source: no comments, layout or docstrings."""
    try:
        tree = ast.parse(source)
        _drop_docstrings(tree)
        code = compile(tree, "", "exec", dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError):
        return sha256(source).hexdigest()
    return sha256(_meaning(code).encode(errors="surrogatepass")).hexdigest()


def _drop_docstrings(block: ast.AST) -> None:
    """Statements alone are visited: there is no docstring inside an expression."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        statements = getattr(block, name, None)
        if not isinstance(statements, list):
            continue
        for statement in statements:
            _drop_docstrings(statement)
        first = statements[0] if statements else None
        if (
            isinstance(block, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
        ):
            statements[:1] = [] if len(statements) > 1 else [ast.copy_location(ast.Pass(), first)]


def _meaning(value: object) -> str:
    """Byte code without line numbers, and constants, as text that is the same in every process."""
    if isinstance(value, tuple):
        return f"({','.join(map(_meaning, value))})"
    if isinstance(value, frozenset):
        return f"{{{','.join(sorted(map(_meaning, value)))}}}"
    if isinstance(value, CodeType):
        return _meaning(tuple(getattr(value, name) for name in _PARTS))
    return repr(value)


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
    digests = [_digest_of_file(path) for root in roots for _, path in _files(root)]
    return sha256(_encode([digests, toolchain(), how])).hexdigest()


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


def _libraries(backend: str) -> dict[str, str]:
    """Versions of what this backend could use, and of Python."""
    found = toolchain()
    return {name: found[name] for name in found if _LIBRARY_OF.get(name, backend) == backend}


def _other_backends(files: Mapping[str, str], backend: str) -> tuple[str, ...]:
    """The packages of all backends but one, as the names of their files begin."""
    end = "/__init__.py"
    packages = [name.removesuffix("__init__.py") for name in files if name.endswith(end)]
    backends = [name for name in packages if name.startswith("backends/") and name.count("/") == 2]
    return tuple(name for name in backends if name != f"backends/{backend}/")


def _files(compiler: Path) -> Iterator[tuple[str, str]]:
    """Relative names and paths of a compiler's files, in order; byte code is none of them."""
    root = str(compiler)
    for directory, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name != "__pycache__")
        below = directory[len(root) :].lstrip(os.sep)
        for file in sorted(files):
            if not file.endswith(".pyc"):
                yield os.path.join(below, file), os.path.join(directory, file)
