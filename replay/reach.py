"""What of a compiler's tree its answers could depend on: which files, libraries, variables.

A file counts where Python could come to it by imports, lazy ones and dotted names in strings
included. A source says what it imports; that is found once, and kept by the digest of its bytes.
"""

import ast
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from types import CodeType

import msgspec

PACKAGE = "compiler"
_ASIDE = ("frontend/", "onnx/", "explain/", "onnx.py", "explain.py")  # ask, and answer nothing
_FACADES = ("__init__.py", "backends/__init__.py")  # import all, for their users and for a table
_READS_TEXT = (b"__doc__", b"getdoc", b"getsource")  # of code to which remarks are data
_DOTTED = re.compile(r"\w+(?:\.\w+)+", re.ASCII)
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]+", re.ASCII)
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


class SourceFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one file says, by its bytes alone."""

    raw: str  # digest of the bytes
    digest: str  # of what Python makes of them: no comments, layout or docstrings
    imports: tuple[str, ...] = ()  # dotted names, dots before those that are relative
    variables: tuple[str, ...] = ()  # of an environment, that it may ask for
    reads_text: bool = False


class Reached(msgspec.Struct, frozen=True, gc=False):
    """All that the answers of one backend could depend on."""

    files: dict[str, str]  # digests by name
    libraries: tuple[str, ...]  # imported, and not of this tree
    variables: tuple[str, ...]


class Tree:
    """The package `compiler` in one place, with what lies beside it. Reads each file once."""

    def __init__(self, compiler: Path, sources: dict[str, SourceFile]) -> None:
        self._compiler = compiler
        self._sources = sources  # by raw digest, of earlier replays; the caller's, and added to
        self._beside: dict[str, tuple[str, ...]] = {}

    @cached_property
    def files(self) -> Mapping[str, SourceFile]:
        """Every file of the package, by its name in it."""
        return {name: self.read(path) for name, path in files_of(self._compiler)}

    @cached_property
    def digest(self) -> str:
        """Names the whole package."""
        return digest_of([(name, source.digest) for name, source in self.files.items()])

    def read(self, path: str) -> SourceFile:
        with open(path, "rb") as file:
            data = file.read()
        raw = sha256(data).hexdigest()
        if raw not in self._sources:
            is_python = path.endswith(".py")
            self._sources[raw] = read_source(data) if is_python else SourceFile(raw, raw)
        return self._sources[raw]

    def reached_by(self, backend: str) -> Reached:
        """From all but the frontend and the other backends, and from those where they are used."""
        aside = (*_ASIDE, *_other_backends(self.files, backend))
        found = {name: self.files[name] for name in self.files if not name.startswith(aside)}
        libraries: dict[str, None] = {}
        waiting = list(found)
        for name in waiting:
            for module in _imports_of(name, found[name]):
                if not (places := self._files_of(module)):
                    libraries[module.partition(".")[0]] = None
                for place in places:
                    is_for_users = name in _FACADES and place.startswith(aside)
                    if place not in found and not is_for_users:
                        found[place] = self._file(place)
                        waiting.append(place)
        reads_text = any(source.reads_text for source in found.values())
        variables = sorted({name for source in found.values() for name in source.variables})
        return Reached(
            {name: each.raw if reads_text else each.digest for name, each in found.items()},
            tuple(sorted(libraries.keys() - sys.stdlib_module_names)),
            tuple(variables),
        )

    def _file(self, name: str) -> SourceFile:
        return self.files.get(name) or self.read(os.path.join(self._compiler, name))

    def _files_of(self, module: str) -> Collection[str]:
        """The files of a module and of the packages that it is in; of one beside us, all files."""
        top, *inner = module.split(".")
        if top != PACKAGE:
            return self._files_beside(top)
        stems = ["/".join(inner[: end + 1]) for end in range(len(inner))]
        endings = (".py", "/__init__.py", ".pyc")
        return [
            "__init__.py",
            *[stem + end for stem in stems for end in endings if stem + end in self.files],
        ]

    def _files_beside(self, top: str) -> Collection[str]:
        if top not in self._beside:
            names = [name for name in self._neighbours if name.partition(".")[0] == top]
            paths = [self._compiler.parent / name for name in names]
            self._beside[top] = tuple(
                os.path.relpath(file, self._compiler)
                for path in paths
                for file in ([p for _, p in files_of(path)] if path.is_dir() else [path])
            )
        return self._beside[top]

    @cached_property
    def _neighbours(self) -> list[str]:
        return sorted(os.listdir(self._compiler.parent))


def _imports_of(name: str, source: SourceFile) -> Iterator[str]:
    """The modules that a file may import, by absolute names."""
    package = [PACKAGE, *name.split("/")[:-1]]
    for module in source.imports:
        rest = module.lstrip(".")
        level = len(module) - len(rest)
        if not level:
            yield rest
        elif level <= len(package):
            yield ".".join([*package[: len(package) - level + 1], *filter(None, [rest])])


def _other_backends(files: Iterable[str], backend: str) -> list[str]:
    """The packages of all backends but one, as the names of their files begin."""
    end = "/__init__.py"
    packages = [name.removesuffix("__init__.py") for name in files if name.endswith(end)]
    backends = [name for name in packages if name.startswith("backends/") and name.count("/") == 2]
    return [name for name in backends if name != f"backends/{backend}/"]


def files_of(root: Path) -> Iterator[tuple[str, str]]:
    """Relative names and paths of the files below `root`, in order; caches of byte code are none
    of them, directories that are links are."""
    start = str(root)
    seen: set[str] = set()  # only asked: links may lead in circles
    for directory, names, files in os.walk(start, followlinks=True):
        real = os.path.realpath(directory)
        names[:] = sorted(name for name in names if name != "__pycache__" and real not in seen)
        below = directory[len(start) :].lstrip(os.sep)
        for file in sorted(files) if real not in seen else ():
            yield os.path.join(below, file), os.path.join(directory, file)
        seen.add(real)


def digest_of(value: object) -> str:
    """Names a value of plain data."""
    return sha256(msgspec.msgpack.encode(value, order="deterministic")).hexdigest()


@lru_cache(maxsize=1024)
def read_source(data: bytes) -> SourceFile:
    """What a Python source says. One that is no Python says nothing but its bytes."""
    raw = sha256(data).hexdigest()
    try:
        tree = ast.parse(data)
        imports, variables = _said(tree)
        _drop_docstrings(tree)
        code = compile(tree, "", "exec", dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError):
        return SourceFile(raw, raw)
    digest = sha256(_meaning(code).encode(errors="surrogatepass")).hexdigest()
    reads_text = any(word in data for word in _READS_TEXT)
    return SourceFile(raw, digest, imports, variables, reads_text)


def _said(tree: ast.Module) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The modules and the variables that a source names, wherever it does."""
    imports: dict[str, None] = {}
    variables: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports.update(dict.fromkeys([alias.name for alias in node.names]))
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            dot = "" if base.endswith(".") else "."
            imports[base] = None
            if node.level or base.partition(".")[0] == PACKAGE:  # a name may be a module
                imports.update(dict.fromkeys([f"{base}{dot}{each.name}" for each in node.names]))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value.startswith(PACKAGE) and _DOTTED.fullmatch(node.value):
                imports[node.value] = None
            elif _VARIABLE.fullmatch(node.value):
                variables[node.value] = None
    return tuple(imports), tuple(variables)


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
