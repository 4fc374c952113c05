"""Small corpora for tests: kernels made by the compiler, recorded as a capture records them."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from compiler import compile_kernel, find_target, observing, parse_node
from compiler.observe import CompileStarted
from corpus import open_reader, open_writer
from replay.cli import main
from replay.codec import finished_fields, started_record
from replay.patched import Patch, copy_compiler

ROOT = Path(__file__).parents[2]
ROW_SUMS = """ir 1
%0 = BUFFER float32 slot=0 size={rows}
%1 = BUFFER float32 slot=1 size={all}
%2 = LOAD float32 %1 view=[({rows},{columns}):({columns},1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[({rows},{columns}):(1,0)]
%5 = SINK void %4 axes=(g0:{rows},r0:{columns})
"""
DIFFERENCE = """ir 1
%0 = BUFFER float32 slot=0 size={size}
%1 = BUFFER float32 slot=1 size={size}
%2 = LOAD float32 %1 view=[({size}):(1)]
%3 = BUFFER float32 slot=2 size={size}
%4 = LOAD float32 %3 view=[({size}):(1)]
%5 = SUB float32 %2 %4
%6 = STORE void %0 %5 view=[({size}):(1)]
%7 = SINK void %6 axes=(g0:{size})
"""

TRIPLE = """ir 1
%0 = BUFFER float32 slot=0 size=4
%1 = BUFFER float32 slot=1 size=4
%2 = LOAD float32 %1 view=[(4):(1)]
%3 = CONST float32 value=0x1.8000000000000p+1 view=none
%4 = MUL float32 %2 %3
%5 = STORE void %0 %4 view=[(4):(1)]
%6 = SINK void %5 axes=(g0:4)
"""
PADDED = """ir 1
%0 = BUFFER float32 slot=0 size=1517
%1 = BUFFER float32 slot=1 size=1295
%2 = LOAD float32 %1 view=[(37,41):(37,1)+-39?(1:36,2:39)]
%3 = STORE void %0 %2 view=[(37,41):(41,1)]
%4 = SINK void %3 axes=(g0:37,g1:41)
"""  # of primes: nothing is a lane, and each element is read under its own guard
RENDER = "source = backend.render(program, name, arguments, target)"


def after_rendering(*statements):
    """A patch that changes LLVM's sources as if the renderer had made them so."""
    body = "".join(f"\n        {statement}" for statement in statements)
    return Patch("compiler/compile.py", RENDER, f"{RENDER}\n    if target.backend == 'llvm':{body}")


SWAP_SUB = after_rendering(r"source = re.sub(r'(fsub .*) (%\w+), (%\w+)', r'\1 \3, \2', source)")
RENAME = after_rendering(r"source = re.sub(r'%sub(\d+)', r'%minus\1', source)")
SPACING = after_rendering("source = source.replace(' = fsub', '  = fsub')")
WRONG_RULE = Patch(
    "compiler/rules/algebra.py",
    "    value = constant_of(node.src[1])\n    if value == 1:",
    "    value = constant_of(node.src[1])\n"
    "    if value == 1 or (value == 3.0 and node.dtype.is_float):",
)
WRONG_PASS = Patch(
    "compiler/passes/gates.py",
    "return b.where(_spread(b, gate, count), value, b.const(node.dtype, 0))",
    "return value",
)
DROP_AN_OPT = Patch(
    "compiler/compile.py",
    "return scheduled(kernel, target, options)",
    "return apply_all(kernel, scheduled(kernel, target, options).applied[1:], target)",
)
FORGET_UNROLL = Patch(
    "compiler/kernel/opts/__init__.py", "OPTS = (Upcast, Unroll, ", "OPTS = (Upcast, "
)
HASH_IN_THE_SOURCE = Patch(
    "compiler/compile.py",
    RENDER,
    f"{RENDER} + f'; {{hash(name)}}'",
)


def before_compiling(*statements):
    """A patch that runs statements at the start of every compile."""
    body = "".join(f"    {statement}\n" for statement in statements)
    line = "    backend = find_backend(target.backend)\n"
    return Patch("compiler/compile.py", line, body + line)


def small_asts():
    for size in range(2, 8):
        yield DIFFERENCE.format(size=size)
    for rows in (3, 5):
        yield ROW_SUMS.format(rows=rows, columns=12, all=rows * 12)


def record_of(text, backend="llvm", **fields):
    """What a capture records of compiling an AST."""
    events = []
    with observing(events.append):
        compile_kernel(parse_node(text), find_target(backend))
    started = next(event for event in events if isinstance(event, CompileStarted))
    finished = finished_fields(events[-1])
    return msgspec.structs.replace(started_record(started), **{**finished, **fields})


def make_corpus(path, records):
    with open_writer(path) as writer:
        for record in records:
            writer.add(record)
    return path


def small_corpus(path):
    """16 kernels: differences and row sums for both backends."""
    return make_corpus(
        path, [record_of(text, backend) for text in small_asts() for backend in ("llvm", "opencl")]
    )


def keys_of(path):
    with open_reader(path) as reader:
        return list(reader.keys())


def patched(to: Path, *patches):
    return copy_compiler(to, patches)


def run(capsys, *words):
    """Run `replay`; its exit code, what it printed, and its errors."""
    capsys.readouterr()
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


def replay_in(directory, *words):
    """`replay` in a process of its own, in a directory."""
    command = [sys.executable, "-m", "replay.cli", *[str(word) for word in words]]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=directory, env=environ, capture_output=True, text=True, check=False
    )


def capture_in(directory, program):
    """Capture the kernels of a program in `directory`/corpus."""
    (directory / "program.py").write_text(program)
    words = ("capture", "--corpus", "corpus", "--", sys.executable, "program.py")
    done = replay_in(directory, *words)
    assert done.returncode == 0, done.stderr
