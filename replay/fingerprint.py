"""What need not be compiled again: records that were `same` under code that has not changed since.

A fingerprint covers every module and data file of the compiler that could change a backend's
sources: all but the frontend and the other backends. Comments, docstrings and layout do not count.
What is remembered lies in the user's cache, by corpus, and counts only with its fingerprint.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import msgspec

from corpus import Stored
from replay.diff import artefact_of, digest_of
from replay.recompile import Mode
from replay.toolchain import toolchain

_OURS = ("codec.py", "recompile.py", "subject.py", "artefact.py", "diff.py", "normalize.py")
_ASIDE = ("frontend", "onnx", "explain")  # they make questions, and answer none
_KEPT = 4  # fingerprints of one corpus, backend and mode: a branch or two, and a copy


class _Cache(msgspec.Struct):
    """The file: normalised digests by raw digest, and known keys by fingerprint, newest last."""

    normalized: dict[str, str] = {}
    known: dict[str, dict[str, str]] = {}


class Memory:
    """Knows which records need no compile. Owned by one replay; `save` writes what it learned."""

    def __init__(self, path: Path, compiler: Path, mode: Mode) -> None:
        self._path = path
        self._compiler = compiler
        self._mode = mode
        self._cache = _load(path)
        self._fingerprints: dict[str, str] = {}
        self._learned: dict[str, dict[str, str]] = {}

    def knows(self, stored: Stored) -> bool:
        """Whether this record was `same` when the code that matters to it was what it is now."""
        fingerprint = self.fingerprint(stored.record.target.backend)
        digest = self._cache.known.get(fingerprint, {}).get(stored.key)
        return digest is not None and digest == _digest(stored)

    def learn(self, stored: Stored) -> None:
        """Remember that this record is `same`."""
        digest = _digest(stored)
        if digest is not None:
            fingerprint = self.fingerprint(stored.record.target.backend)
            self._learned.setdefault(fingerprint, {})[stored.key] = digest

    def forget(self, key: str) -> None:
        """Undo `learn`, and all that earlier replays learned of the record."""
        for known in (*self._learned.values(), *self._cache.known.values()):
            known.pop(key, None)

    def save(self) -> None:
        """Write the cache; a place that cannot be written costs the next replay time, no more."""
        for fingerprint, learned in self._learned.items():
            known = self._cache.known.pop(fingerprint, {})
            self._cache.known[fingerprint] = {**known, **learned}
        while len(self._cache.known) > _KEPT:
            del self._cache.known[next(iter(self._cache.known))]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            new = self._path.with_suffix(".new")
            new.write_bytes(msgspec.msgpack.encode(self._cache))
            new.replace(self._path)
        except OSError:
            return

    def fingerprint(self, backend: str) -> str:
        """Name all that could change the sources of a backend."""
        if backend not in self._fingerprints:
            parts = {**toolchain(), "backend": backend, "mode": self._mode.value}
            for name, path in _files(self._compiler, backend):
                parts[name] = self._normalized(path)
            body = msgspec.msgpack.encode(parts, order="deterministic")
            self._fingerprints[backend] = sha256(body).hexdigest()
        return self._fingerprints[backend]

    def _normalized(self, path: Path) -> str:
        data = path.read_bytes()
        raw = sha256(data).hexdigest()
        if path.suffix != ".py":
            return raw
        if raw not in self._cache.normalized:
            self._cache.normalized[raw] = normalized_digest(data)
        return self._cache.normalized[raw]


@lru_cache(maxsize=1024)
def normalized_digest(source: bytes) -> str:
    """The digest of what Python makes of a source: no comments, layout or docstrings."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return sha256(source).hexdigest()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
    return sha256(ast.dump(tree).encode()).hexdigest()


def cache_path(environ: Mapping[str, str], corpus: Path) -> Path | None:
    """Where what is known of a corpus lies; None where the environment names no such place."""
    base = environ.get("XDG_CACHE_HOME") or environ.get("HOME", "") + "/.cache"
    if not base.startswith("/") or base == "/.cache":
        return None
    name = sha256(str(corpus.absolute()).encode()).hexdigest()[:24]
    return Path(base) / "kernel-replay" / f"{name}.same"


def _load(path: Path) -> _Cache:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=_Cache)
    except (OSError, msgspec.MsgspecError, ValueError):
        return _Cache()


def _digest(stored: Stored) -> str | None:
    artefact = artefact_of(stored.record)
    return None if artefact is None else digest_of(artefact)


def _files(compiler: Path, backend: str) -> Iterator[tuple[str, Path]]:
    """What could change the sources of a backend: names and files, in order."""
    others = [path.parent for path in compiler.glob("backends/*/__init__.py")]
    others = [path for path in others if path.name != backend]
    aside = {compiler / name for name in _ASIDE} | {compiler / f"{name}.py" for name in _ASIDE}
    skipped = {*others, *aside}
    for path in sorted(compiler.rglob("*")):
        if path.is_file() and path.suffix != ".pyc" and skipped.isdisjoint((path, *path.parents)):
            yield str(path.relative_to(compiler)), path
    here = Path(__file__).parent
    for name in _OURS:
        yield f"replay/{name}", here / name
