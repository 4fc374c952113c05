"""What timed searches found, kept in a directory: a JSON file for each question, never code.

A file holds the whole question, so one that is not for the question at hand, was cut short or was
written by someone else is told, and ignored with a line in the log.
"""

import json
import logging
import os
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from compiler.errors import CompilerError
from compiler.ir import Node, print_node
from compiler.kernel import (
    Finalist,
    Kernel,
    Opt,
    Searched,
    apply_all,
    format_opts,
    parse_opts,
)
from compiler.options import CompileOptions, flatten
from compiler.target import Target

SCHEMA = 1
_log = logging.getLogger("compiler.tuning")
# what a file of someone else's may raise: no JSON, other fields, brackets or numbers without end
_UNREADABLE = (ValueError, KeyError, TypeError, RecursionError, OverflowError)
Question = dict[str, object]


def question_of(
    ast: Node, target: Target, options: CompileOptions, toolchain: Mapping[str, str], threads: int
) -> Question:
    """All that what is fastest depends on, as far as it can be told."""
    return {
        "ast": print_node(ast),
        "target": target.name,
        "options": {name: value for name, value in flatten(options).items() if name != "name"},
        "toolchain": dict(sorted(toolchain.items())),
        "threads": threads,
    }


class Memory:
    """A directory of answers; several processes may use it at once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def recall(self, question: Question, kernel: Kernel, target: Target) -> Searched | None:
        """What was found for this question, if it is known and still legal."""
        path = self._path(question)
        try:
            text = path.read_text(encoding="utf-8")
            return _searched(json.loads(text), question, kernel, target)
        except FileNotFoundError:
            return None
        except (OSError, *_UNREADABLE, CompilerError) as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            _log.warning("search: %s: ignored: %s", path.name, reason)
            return None

    def keep(self, question: Question, searched: Searched) -> None:
        """Write an answer, whole or not at all. What cannot be written is searched for again."""
        answer = {
            "schema": SCHEMA,
            "question": question,
            "heuristics": format_opts(searched.by_heuristics),
            "opts": format_opts(searched.opts),
            "finalists": [[format_opts(last.opts), last.cost] for last in searched.finalists],
        }
        path = self._path(question)
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._directory, suffix=".part")
            try:
                with open(handle, "w", encoding="utf-8") as file:
                    json.dump(answer, file, indent=1)
                os.replace(name, path)
            finally:
                Path(name).unlink(missing_ok=True)  # of a write that failed: it is renamed else
        except OSError as error:
            _log.warning("search: %s: not kept: %s", path.name, error)

    def _path(self, question: Question) -> Path:
        text = json.dumps(question, sort_keys=True)
        return self._directory / f"{sha256(text.encode()).hexdigest()}.json"


def _searched(found: object, question: Question, kernel: Kernel, target: Target) -> Searched:
    """The answer in a file. Raises for one that is not what we write."""
    if not isinstance(found, dict) or found["schema"] != SCHEMA:
        raise ValueError(f"no answer of schema {SCHEMA}")
    if found["question"] != question:
        raise ValueError("it answers another question")
    finalists = [
        Finalist(_legal(opts, kernel, target), float(cost)) for opts, cost in found["finalists"]
    ]
    return Searched(
        _legal(found["opts"], kernel, target),
        tuple(finalists),
        _legal(found["heuristics"], kernel, target),
        rounds=0,
        lowered=0,
        judged=0,
        duplicates=0,
        dropped=(),
        is_recalled=True,
    )


def _legal(text: object, kernel: Kernel, target: Target) -> tuple[Opt, ...]:
    if not isinstance(text, str):
        raise TypeError(f"opts {text!r:.40} are no text")
    return apply_all(kernel, parse_opts(text), target).applied
