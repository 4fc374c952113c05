"""Plays the demo: runs its commands as a user would, passes on what they print, sums up."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from replay.demo.changes import CHANGES, HARMFUL, Change
from replay.demo.scenario import Command, Setting, captures, changed, unchanged
from replay.errors import ReplayError
from replay.patched import copy_compiler
from replay.reports.model import quoted, short

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Voice:
    """How the demo speaks: `say` prints a line, `title` one that stands out."""

    say: Say
    title: Say


@dataclass(frozen=True, slots=True)
class _Seen:
    """One replay as its JSON report has it."""

    name: str
    code: int
    report: Mapping[str, object]

    def count(self, table: str, name: str) -> int:
        counts = self.report[table]
        assert isinstance(counts, dict)
        return int(counts.get(name, 0))

    @property
    def numerics(self) -> str:
        counts = self.report["numerics"]
        assert isinstance(counts, dict)
        return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none run"

    def example(self, numerics: str | None = None) -> str:
        """The key of the first kernel that changed, or that has such numbers."""
        records = self.report["records"]
        assert isinstance(records, list)
        wanted = [
            r for r in records if r["outcome"] != "same" and numerics in (None, r["numerics"])
        ]
        return short(wanted[0]["key"]) if wanted else "KEY"


def play(voice: Voice, setting: Setting) -> int:
    """Show it all. 0: it came out as it should; 1: something else was seen, which is said."""
    start = time.monotonic()
    voice.title("1. Capture: run the model, record every kernel that the compiler makes of it")
    for command in captures(setting):
        if _run(voice, setting, command) != 0:
            raise ReplayError(f"demo: `{command.shown}` failed; see above why")
    voice.title("2. Replay: the same compiler makes the same kernels again")
    seen = [_replay(voice, setting, "unchanged", unchanged())]
    for number, change in enumerate(CHANGES, 3):
        voice.title(f"{number}. {change.what}")
        _show(voice, change)
        copy_compiler(setting.out / change.name, change.patches)
        seen.append(_replay(voice, setting, change.name, changed(change)))
    voice.title(f"What was seen, in {time.monotonic() - start:.0f} s")
    return _sum_up(voice, setting, seen)


def _show(voice: Voice, change: Change) -> None:
    for patch in change.patches:
        voice.say(f"  {change.name}/ is a copy of the compiler; in {patch.file} there")
        voice.say(f"  - {patch.before.strip()}")
        voice.say(f"  + {patch.after.strip()}")


def _replay(voice: Voice, setting: Setting, name: str, command: Command) -> _Seen:
    code = _run(voice, setting, command)
    path = setting.out / f"{name}.json"
    if not path.is_file():
        raise ReplayError(f"demo: `{command.shown}` made no report; see above why")
    return _Seen(name, code, json.loads(path.read_text(encoding="utf-8")))


def _run(voice: Voice, setting: Setting, command: Command) -> int:
    """Run one command and pass on its lines as they come."""
    voice.say(f"  $ {command.shown}")
    python = sys.executable
    words = [python if word == "python" else word for word in command.words]
    process = subprocess.Popen(
        [python, "-P", "-m", "replay.cli", *words],  # as the installed script: not from `out`
        cwd=setting.out,
        env=setting.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                voice.say(f"    {line.rstrip()}")
        except BaseException:
            process.terminate()  # else leaving the block waits for its end
            raise
    voice.say(f"  exit code {process.returncode}")
    return process.returncode


def _sum_up(voice: Voice, setting: Setting, seen: list[_Seen]) -> int:
    same, *others = seen
    voice.say(
        f"  unchanged  exit code {same.code}: {same.count('totals', 'same')} kernels the same"
    )
    for each in others:
        ran = str(each.report["headline"]).partition(", ")[2]
        voice.say(f"  {each.name:<9}  exit code {each.code}: {ran}; numerics {each.numerics}")
    why = _why_unexpected(same, others)
    if why is not None:
        voice.say(f"  This is not what the demo should show: {why}")
    harmless, harmful = others
    voice.say(
        "  With no policy any change fails until it is accepted (`replay accept`); wrong numbers"
    )
    voice.say("  are never accepted.")
    out = _shown(setting)
    reports = " ".join(quoted(f"{out}/{each.name}.html") for each in seen)
    voice.say(f"Reports, as pages and beside them as .json: {reports}")
    voice.say(f"More: cd {quoted(out)}")
    voice.say(f"  replay diff {harmless.example()} --corpus corpus --mode free --compiler harmless")
    wrong = f"{harmful.example('wrong')} --corpus corpus --compiler {HARMFUL.name}"
    voice.say(f"  replay verify {wrong}")
    return 0 if why is None else 1


def _why_unexpected(same: _Seen, others: list[_Seen]) -> str | None:
    if same.code != 0:
        return "the unchanged compiler did not pass"
    for each, change in zip(others, CHANGES, strict=True):
        if each.code != 1:
            return f"the {each.name} change passed"
        wrong = each.count("numerics", "wrong")
        if change.is_wrong and not wrong:
            return f"no kernel of the {each.name} change is wrong"
        if wrong and not change.is_wrong:
            return f"{wrong} kernels of the {each.name} change are wrong"
    return None


def _shown(setting: Setting) -> str:
    """The demo's directory as the user would name it."""
    return min(os.path.relpath(setting.out, setting.home), str(setting.out), key=len)
