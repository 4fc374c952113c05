"""README and docs/ say what is so: console blocks are run, and every command and option exists."""

import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from replay.cli import COMMANDS
from replay.demo.changes import HARMFUL
from replay.patched import copy_compiler

ROOT = Path(__file__).parent.parent
FILES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRESS = re.compile(r"[a-z ]+: \d+ of \d+")
BINARIES = Path(sys.executable).parent


def blocks(path: Path, *languages: str) -> Iterator[str]:
    for found in BLOCK.finditer(path.read_text(encoding="utf-8")):
        if found[1] in languages:
            yield found[2]


# --- console blocks ---


def readme(place: Path) -> None:
    """The program that README shows, and the copy of the compiler that it speaks of."""
    (program,) = [text for text in blocks(ROOT / "README.md", "python") if "# model.py" in text]
    (place / "model.py").write_text(program)
    copy_compiler(place / "tree", HARMFUL.patches)


def examples(place: Path) -> None:
    shutil.copytree(ROOT / "examples", place / "examples")


SETUPS = {"README.md": readme, "own-compiler.md": examples}
CONSOLES = [path for path in FILES if any(blocks(path, "console"))]


@pytest.mark.parametrize("path", CONSOLES, ids=lambda path: path.name)
def test_console_blocks_show_what_the_commands_print(path, tmp_path):
    SETUPS[path.name](tmp_path)
    for block in blocks(path, "console"):
        for command, wanted in steps(block):
            printed = run(command, tmp_path)
            left = iter(printed)
            lacking = [
                line for line in wanted if line not in left
            ]  # in order; others may be between
            assert lacking == [], f"$ {command}\n" + "\n".join(printed)


def steps(block: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a block, with the lines that are shown below it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *lines = part.rstrip("\n").split("\n")
        yield command, lines


def run(command: str, place: Path) -> list[str]:
    environ = {
        **os.environ,
        "PATH": f"{BINARIES}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(place / "cache"),
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=place,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return [line for line in done.stdout.splitlines() if not PROGRESS.fullmatch(line)]


# --- commands and options ---


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command line of ours in any block, and where it stands."""
    for path in FILES:
        for block in blocks(path, "", "console", "sh"):
            for line in block.replace("\\\n", " ").splitlines():
                words = (
                    shlex.split(line.removeprefix("$ "), comments=True) if "replay" in line else []
                )
                if words[:1] in (["replay"], ["pytest"]):
                    yield path.name, words


def options_of(words: list[str]) -> set[str]:
    """The options that `replay WORDS` takes."""
    modules = {name: module for name, module, _ in COMMANDS}
    assert words[0] in modules, f"replay {words[0]} does not exist"
    command: click.Command = importlib.import_module(modules[words[0]]).command
    if isinstance(command, click.Group):
        command = command.commands[words[1]]
    return {option for each in command.params for option in each.opts}


@pytest.mark.parametrize(("name", "words"), list(commands()), ids=lambda value: str(value)[:60])
def test_every_command_line_uses_commands_and_options_that_exist(name, words):
    ours = words[1 : words.index("--")] if "--" in words else words[1:]
    given = {word for word in ours if word.startswith("--")}
    if words[0] == "pytest":
        assert given <= {"--replay-corpus", "--replay-check", "--replay-update"}
    else:
        assert given <= options_of(ours)


def test_command_lines_are_found_in_readme_and_docs():
    assert {"README.md", "replay.md", "ci.md", "own-compiler.md"} <= {
        name for name, _ in commands()
    }
