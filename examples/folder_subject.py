"""Another compiler under replay: a list of LLVM passes, and a preprocessor of OpenCL C.

    python folder_subject.py FOLDER CORPUS     captures what it makes of every .ll and .cl file
    replay run --corpus CORPUS --subject folder_subject.py:SUBJECT

A kernel has pointers to 64 floats, the first of them written. docs/own-compiler.md explains it.
"""

import ctypes
import re
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pyopencl as cl

from corpus import Argument, ArgumentKind, KernelRecord, Opt, Target, open_writer
from replay.artefact import Artefact
from replay.baseline import answered
from replay.outcome import Numerics
from replay.subject import Checked, Detail, RefusedError, Where

SIZE = 64
PASSES = ("sroa", "instruction_combine", "new_gvn", "simplify_cfg")  # what the compiler chooses
BACKENDS = {".ll": "llvm", ".cl": "opencl"}
NAME = {
    "llvm": re.compile(r"define void @(\w+)\(([^)]*)\)"),
    "opencl": re.compile(r"void (\w+)\(([^)]*)\)"),
}
Stages = Iterator[tuple[str, str]]


def optimise(text: str, passes: tuple[str, ...]) -> Stages:
    """The module as read, and after each pass."""
    try:
        module = llvm.parse_assembly(text)
    except RuntimeError as error:
        raise RefusedError(Where.READING, str(error)) from None
    yield "read", str(module)
    tuning = llvm.create_pipeline_tuning_options()
    builder = llvm.create_pass_builder(machine(), tuning)
    for name in passes:
        manager = llvm.create_new_module_pass_manager()
        add = getattr(manager, f"add_{name}_pass", None)
        if add is None:
            raise RefusedError(Where.NAMING, f"pass {name!r} is unknown to this LLVM")
        add()
        manager.run(module, builder)
        yield name, str(module)


def preprocess(text: str) -> Stages:
    """C without comments, and with the values of its definitions."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    yield "comments", text
    for name, value in reversed(re.findall(r"^#define (\w+) (.+)$", text, re.MULTILINE)):
        text = re.sub(rf"^#define {name} .+\n", "", text, flags=re.MULTILINE)
        text = re.sub(rf"\b{name}\b", value, text)
    yield "definitions", text


class Folder:
    """The compiler as replay sees it. Opts are the passes, by name and in order."""

    kind = "folder"

    def __init__(self) -> None:
        self.checker = Runner()

    def check(self, record: KernelRecord) -> None:
        if record.target.backend not in NAME:
            raise RefusedError(Where.NAMING, f"no compiler for {record.target.backend!r}")
        if NAME[record.target.backend].search(record.ast) is None:
            raise RefusedError(Where.READING, "the text defines no kernel")

    def compile(
        self, record: KernelRecord, opts: tuple[Opt, ...] | None, detail: Detail
    ) -> Artefact:
        self.check(record)
        backend, applied = record.target.backend, opts
        if applied is None:
            applied = tuple(Opt(name) for name in PASSES) if backend == "llvm" else ()
        names = tuple(opt.name for opt in applied)
        stages = optimise(record.ast, names) if backend == "llvm" else preprocess(record.ast)
        texts = tuple(stages)
        name, parameters = NAME[backend].search(record.ast).groups()
        is_told = detail is Detail.STAGES
        return Artefact(
            name=name,
            source=texts[-1][1],
            applied=applied,
            launch=None,
            arguments=tuple(
                Argument(f"p{i}", "float32", SIZE, ArgumentKind.IN if i else ArgumentKind.OUT)
                for i in range(len(parameters.split(",")))
            ),
            estimates=None,
            stages=tuple((stage, digest(text)) for stage, text in texts) if is_told else (),
            texts=texts if is_told else (),
        )


class Runner:
    """Runs what was compiled beside what was written; both must give the same bits."""

    def check(
        self, record: KernelRecord, opts: tuple[Opt, ...] | None, old: Artefact | None
    ) -> Checked:
        new = SUBJECT.compile(record, opts, Detail.OUTPUT)
        run = {"llvm": run_llvm, "opencl": run_opencl}[record.target.backend]
        random = np.random.default_rng(int(digest(record.ast), 16))  # on every host the same
        inputs = [random.standard_normal(SIZE).astype("f4") for _ in new.arguments]
        if record.target.backend == "opencl" and not cl_devices():
            return Checked(numerics=Numerics.SKIPPED, reason="no OpenCL device here")
        wanted, found = (run(new.name, text, inputs) for text in (record.ast, new.source))
        wrong = int((wanted.view("i4") != found.view("i4")).sum())
        verdict = Numerics.WRONG if wrong else Numerics.EXACT
        return Checked(numerics=verdict, reason=f"{wrong} of {SIZE} elements" if wrong else None)


def run_llvm(name: str, text: str, arrays: list[np.ndarray]) -> np.ndarray:
    out, *inputs = (array.copy() for array in arrays)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine())
    pointers = [each.ctypes.data_as(ctypes.c_void_p) for each in (out, *inputs)]
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers))
    kind(engine.get_function_address(name))(*pointers)
    return out


def run_opencl(name: str, text: str, arrays: list[np.ndarray]) -> np.ndarray:
    context = cl.Context(cl_devices()[:1])
    queue, flags = cl.CommandQueue(context), cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(context, flags, hostbuf=array) for array in arrays]
    program = cl.Program(context, text).build(options=["-cl-opt-disable"], cache_dir=False)
    getattr(program, name)(queue, (SIZE,), None, *buffers)
    out = np.empty_like(arrays[0])
    cl.enqueue_copy(queue, out, buffers[0])
    return out


def cl_devices() -> list[cl.Device]:
    try:
        return [device for each in cl.get_platforms() for device in each.get_devices()]
    except cl.Error:  # there is not even a platform
        return []


def machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine()


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


SUBJECT = Folder()


def capture(folder: Path, corpus: Path) -> None:
    """Record what the compiler makes of every file."""
    with open_writer(corpus) as writer:
        for path in sorted(folder.iterdir()):
            if path.suffix in BACKENDS:
                target = Target(BACKENDS[path.suffix], "host")
                record = KernelRecord(kind=SUBJECT.kind, ast=path.read_text(), target=target)
                writer.add(answered(record, SUBJECT.compile(record, None, Detail.STAGES)))


if __name__ == "__main__":
    capture(Path(sys.argv[1]), Path(sys.argv[2]))
