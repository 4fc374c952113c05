"""Records to test with: made up, complete, and different from one another by one number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from corpus import (
    Argument,
    ArgumentKind,
    Estimates,
    KernelRecord,
    Launch,
    Opt,
    Provenance,
    Target,
    open_writer,
)


def _record(number: int = 0, **changes: object) -> KernelRecord:
    fields: dict[str, object] = {
        "kind": "kernel-replay",
        "ast": f"kernel v1\n%0 = const float32 {number}.0\n%1 = store out0 %0\n",
        "target": Target("llvm", "x86-64-v3", {"fp16": False, "threads": 2}),
        "options": {"math.fma": True},
        "requested": None,
        "applied": (Opt("Upcast", {"axis": "g0", "amount": 4}),),
        "name": f"e_{number}",
        "source": f"define void @e_{number}(ptr %out) {{\n  ret void\n}}\n",
        "stages": (("group", "0123456789abcdef"), ("linearize", "fedcba9876543210")),
        "launch": Launch((32, "n"), (1,)),
        "arguments": (Argument("out0", "float32", 32, ArgumentKind.OUT),),
        "estimates": Estimates(64, "4*n"),
        "rewrites": 12,
        "provenance": Provenance(
            revision="8c8b8e8", dirty=False, toolchain={"llvmlite": "0.50"}, test_id="test_a.py::a"
        ),
    }
    return KernelRecord(**{**fields, **changes})


@pytest.fixture
def make_record() -> Callable[..., KernelRecord]:
    return _record


@pytest.fixture
def make_corpus(tmp_path: Path) -> Callable[..., Path]:
    """Make a corpus of `count` records below the test's own directory."""

    def make(count: int, name: str = "corpus") -> Path:
        with open_writer(tmp_path / name) as writer:
            for number in range(count):
                writer.add(_record(number))
        return tmp_path / name

    return make
