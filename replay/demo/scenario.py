"""What the demo shows: which model, into which directory, with which commands."""

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from replay.demo.changes import Change
from replay.errors import UsageError
from replay.tree import ROOT

MODEL = Path(".models/speechmos/dnsmos_models/model_v8.onnx")
_NETWORK = Path(__file__).with_name("network.py")
_MARK = ".replay-demo"
_BACKENDS = ("llvm", "opencl")


@dataclass(frozen=True, slots=True)
class Setting:
    """Where the demo plays. Every command runs in `out`; the user is in `home`."""

    out: Path
    home: Path
    model: Path | None  # None: the small network
    backends: tuple[str, ...]
    environ: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Command:
    """Words of `replay ...`; `shown` is what a user would type."""

    words: tuple[str, ...]

    @property
    def shown(self) -> str:
        return " ".join(("replay", *self.words))


def find_model(directories: Iterable[Path]) -> tuple[Path | None, str]:
    """The real model and a line about it; None, with how to get it, where it is missing."""
    if find_spec("onnx") is None:
        return None, "a small convolutional network: onnx is missing, `make setup` installs it"
    for directory in (*directories, Path(ROOT)):
        path = (directory / MODEL).absolute()
        if path.is_file():
            return path, "DNSMOS model_v8.onnx, which rates the quality of speech"
    return None, f"a small convolutional network: {MODEL} is missing, `make setup` fetches it"


def prepare(out: Path) -> Path:
    """An empty directory for the demo; what an earlier demo left there is removed."""
    out = out.absolute()
    if out.exists() and not (out / _MARK).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"--out {out}: holds something else; give a new or an empty directory")
    try:
        if out.exists():
            shutil.rmtree(out)
        out.mkdir(parents=True)
        (out / _MARK).touch()
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}; give another directory") from None
    return out


def captures(setting: Setting) -> list[Command]:
    """Run the model on each backend under capture."""
    start = ("capture", "--corpus", "corpus", "--", "python")
    if setting.model is None:
        shutil.copy(_NETWORK, setting.out)
        return [Command((*start, _NETWORK.name, name)) for name in setting.backends]
    model = min(os.path.relpath(setting.model, setting.out), str(setting.model), key=len)
    program = (*start, "-m", "compiler.onnx", model, "--dim", "N=1", "--target")
    return [Command((*program, name)) for name in setting.backends]


def unchanged() -> Command:
    """Replay all that was captured against the compiler that made it."""
    return Command(("run", "--corpus", "corpus", *_reports("unchanged")))


def changed(change: Change) -> Command:
    """Replay the kernels of one backend against a patched copy of the compiler."""
    start = ("run", "--corpus", "corpus", "--target", _BACKENDS[0], "--compiler", change.name)
    return Command((*start, *change.options, *_reports(change.name)))


def _reports(name: str) -> tuple[str, ...]:
    return ("--report", f"html:{name}.html", "--report", f"json:{name}.json")
