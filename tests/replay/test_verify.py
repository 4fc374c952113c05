"""Verification: what does nothing, too little or too much is found, and what is right passes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from small_kernels import (
    binary,
    compiled,
    fill,
    inverse_of_sums,
    move,
    row_sum,
    symbolic,
    two_outputs,
    unary,
)

from compiler.backends import Buffer, Executable, Launch, Program, open_device
from compiler.backends.reference.device import ReferenceDevice, ReferenceExecutable
from compiler.compile import Compiled
from compiler.errors import DeviceError
from compiler.ir import Node
from compiler.target import LLVM, OPENCL
from replay.numerics.inputs import Kind
from replay.numerics.tolerance import Severity
from replay.numerics.verify import Verdict, cases, verdict_of, verify
from replay.outcome import Beside, Numerics

Arrays = Sequence[np.ndarray]
Spoil = Callable[[Arrays], None]


@dataclass(frozen=True)
class _Spoiled:
    """A program that does something to its buffers after, or instead of, what it should."""

    right: ReferenceExecutable
    spoil: Spoil
    runs: bool

    def __call__(
        self, buffers: Sequence[Buffer], variables: Mapping[str, int] | None = None
    ) -> None:
        if self.runs:
            self.right(buffers, variables)
        self.spoil([buffer.array for buffer in buffers])


class Faulty(ReferenceDevice):
    """A device whose programs are spoiled."""

    def __init__(self, spoil: Spoil, *, runs: bool = True) -> None:
        self.spoil, self.runs = spoil, runs

    def build(self, program: Program) -> _Spoiled:
        return _Spoiled(super().build(program), self.spoil, self.runs)


def spoiled(
    ast: Node, spoil: Spoil, *, runs: bool = True, kinds: tuple[Kind, ...] = tuple(Kind)
) -> Verdict:
    return verify(compiled(ast), Faulty(spoil, runs=runs), "seed", kinds=kinds)


def impostor(ast: Node, pretends: Node) -> Compiled:
    """The question of one kernel with the program of another."""
    question, answer = compiled(pretends), compiled(ast)
    program = replace(answer.program, arguments=question.program.arguments)
    return replace(question, program=program)


def right(ast: Node) -> Verdict:
    return verify(compiled(ast), open_device("reference"), "seed")


KERNELS = {
    "row sum": row_sum(4, 50),
    "long sum": row_sum(2, 20_000),
    "half sum": row_sum(4, 50, dtype="float16"),
    "integer sum": row_sum(4, 50, dtype="int32"),
    "difference": binary("SUB", 40),
    "integer difference": binary("SUB", 40, dtype="uint8"),
    "comparison": binary("LT", 40, out="bool"),
    "bfloat16 product": binary("MUL", 40, dtype="bfloat16"),
    "double quotient": binary("FDIV", 40, dtype="float64"),
    "root": unary("SQRT", 40),
    "power": unary("EXP2", 40),
    "cast": unary("CAST", 40, out="int16"),
    "reversal": move(40, "(-1)+39"),
    "spread": move(20, "(1)+1", target="(1)?(3:17)", source=21),
    "two outputs": two_outputs(30),
    "symbolic": symbolic(50),
    "rows without columns": inverse_of_sums(50),  # of which a sum is -0.0
    "constant": fill(20, 1.5),
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_right_kernel_passes_and_is_not_weak(name):
    verdict = right(KERNELS[name])
    assert verdict.numerics in (Numerics.EXACT, Numerics.BOUNDED), verdict.reason
    assert verdict.weak is None


ON_OPENCL = (  # a build takes a second
    *("row sum", "bfloat16 product", "two outputs", "symbolic", "rows without columns"),
)


@pytest.mark.parametrize(
    ("target", "name"),
    [*[(LLVM, name) for name in KERNELS], *[(OPENCL, name) for name in ON_OPENCL]],
    ids=lambda x: getattr(x, "backend", x),
)
def test_the_backends_pass(target, name):
    try:
        device = open_device(target.backend)
    except DeviceError as error:
        pytest.skip(str(error))
    verdict = verify(compiled(KERNELS[name], target), device, "seed")
    assert verdict.numerics in (Numerics.EXACT, Numerics.BOUNDED), verdict.reason


# --- doing nothing, or too little ---


def written(arrays: Arrays) -> Arrays:
    return arrays[: 2 if len(arrays) == 3 and arrays[0].size == 30 else 1]


def zeros(arrays: Arrays) -> None:
    for output in written(arrays):
        output[...] = 0


def copies(arrays: Arrays) -> None:
    output, source = arrays[0], arrays[-1]
    with np.errstate(invalid="ignore"):
        output[...] = np.resize(source, output.size).astype(output.dtype)


def nothing(arrays: Arrays) -> None:
    pass


@pytest.mark.parametrize("spoil", [zeros, copies, nothing])
@pytest.mark.parametrize("name", KERNELS)
def test_zeros_inputs_and_stale_memory_are_wrong(name, spoil):
    assert spoiled(KERNELS[name], spoil, runs=False).numerics is Numerics.WRONG


@dataclass(frozen=True)
class _Forgetful:
    """A program that does not write one element."""

    right: ReferenceExecutable
    position: int

    def __call__(
        self, buffers: Sequence[Buffer], variables: Mapping[str, int] | None = None
    ) -> None:
        before = buffers[0].array[self.position].copy()
        self.right(buffers, variables)
        buffers[0].array[self.position] = before


class Forgetful(ReferenceDevice):
    def build(self, program: Program) -> _Forgetful:
        return _Forgetful(super().build(program), last_written(program.arguments[0].size))


def last_written(size: object) -> int:
    return 16 if size == 20 else -1  # "spread" leaves its end alone


@pytest.mark.parametrize("name", KERNELS)
def test_a_program_that_forgets_its_last_element_is_wrong(name):
    assert verify(compiled(KERNELS[name]), Forgetful(), "seed").numerics is Numerics.WRONG


def flip_last(arrays: Arrays) -> None:
    """The lowest bits of the last element of the last output."""
    output = written(arrays)[-1]
    index = last_written(output.size) % output.size
    raw = output[index : index + 1].view(np.uint8)
    raw[0] ^= 1 if output.dtype == np.bool_ else 0x7F


@pytest.mark.parametrize("name", [name for name in KERNELS if name not in ("power", "half sum")])
def test_a_changed_last_element_of_the_last_output_is_wrong(name):
    verdict = spoiled(KERNELS[name], flip_last)
    assert verdict.numerics is Numerics.WRONG
    assert max(run.count("wrong") for run in verdict.runs) == 1


def test_a_lost_term_of_a_long_sum_is_wrong():
    length = 100_000
    lossy = impostor(row_sum(2, length, terms=length - 1), row_sum(2, length))
    verdict = verify(lossy, open_device("reference"), "seed", kinds=(Kind.GRID,))
    assert verdict.numerics is Numerics.WRONG
    assert verdict.runs[0].count("wrong") == 2


def test_swapped_operands_are_wrong():
    swapped = impostor(binary("SUB", 40, swap=True), binary("SUB", 40))
    assert verify(swapped, open_device("reference"), "seed").numerics is Numerics.WRONG


def test_a_value_that_went_through_a_narrower_type_is_wrong():
    def narrow(arrays: Arrays) -> None:
        arrays[0][...] = arrays[0].astype(np.float16)

    verdict = spoiled(binary("MUL", 40), narrow, kinds=(Kind.DENSE,))
    assert verdict.numerics is Numerics.WRONG


def test_a_flushed_subnormal_is_wrong():
    def flush(arrays: Arrays) -> None:
        tiny = np.abs(arrays[0]) < np.finfo(np.float32).tiny
        arrays[0][tiny] = 0

    verdict = spoiled(unary("NEG", 400), flush)
    assert verdict.numerics is Numerics.WRONG
    assert [run.numerics for run in verdict.runs][:2] == [Numerics.EXACT, Numerics.EXACT]


# --- too much ---


def poke(arrays: Arrays, which: int, offset: int) -> None:
    """Write beyond one end of a buffer, in the memory around it."""
    whole = arrays[which].base
    start = (arrays[which].ctypes.data - whole.ctypes.data) // whole.itemsize
    whole[start + offset] = 1


@pytest.mark.parametrize("offset", [-1, 40, 41, -1000])
@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_a_write_outside_a_buffer_is_wrong_and_named(which, offset, dtype):
    verdict = spoiled(binary("SUB", 40, dtype=dtype), lambda arrays: poke(arrays, which, offset))
    assert verdict.numerics is Numerics.WRONG
    assert verdict.runs[0].strays[0].buffer == f"data{which}"
    assert verdict.runs[0].strays[0].index == offset
    assert verdict.reason is not None
    assert verdict.reason.startswith(f"write outside the buffer: data{which}[{offset}]")


def test_a_write_to_an_input_is_wrong():
    def scribble(arrays: Arrays) -> None:
        arrays[2][7] = 3

    verdict = spoiled(binary("SUB", 40), scribble)
    assert verdict.numerics is Numerics.WRONG
    assert verdict.runs[0].strays[0].what == "write to an input"


def test_a_write_where_the_mask_does_not_hold_is_wrong():
    def overrun(arrays: Arrays) -> None:
        arrays[0][17] = 3

    verdict = spoiled(move(20, "(1)", target="(1)?(3:17)"), overrun)
    assert verdict.numerics is Numerics.WRONG
    assert verdict.runs[0].first is not None
    assert verdict.runs[0].first.what == "stray write"


def test_a_read_beyond_a_buffer_shows_in_the_result():
    beyond = move(40, "(1)+1", source=41)
    program = replace(
        compiled(beyond, LLVM).program, arguments=compiled(move(40, "(1)")).program.arguments
    )
    liar = replace(compiled(move(40, "(1)"), LLVM), program=program)
    verdict = verify(liar, open_device("llvm"), "seed")
    assert verdict.numerics is Numerics.WRONG
    assert any(
        severity is Severity.STRUCTURE
        for _, c in verdict.runs[0].comparisons
        for severity, _ in c.severities
    )


# --- weak records, variables, old and new ---


@pytest.mark.parametrize(
    ("ast", "why"),
    [
        (fill(8, 0.0), "zeros pass as data0"),
        (move(8, "(1)"), "a copy of data1 passes as data0"),
        (
            move(8, "(1)", target="(1)?(0:0)"),
            "nothing is written to data0",
        ),
    ],
    ids=["zeros", "copy", "nothing"],
)
def test_a_kernel_that_no_input_can_tell_from_doing_nothing_is_weak(ast, why):
    verdict = right(ast)
    assert verdict.weak == why
    assert verdict.numerics is Numerics.EXACT


def test_symbolic_sizes_run_at_both_ends_and_in_the_middle():
    verdict = right(symbolic(50))
    assert [run.label for run in verdict.runs if run.label.startswith("grid")] == [
        "grid n=1",
        "grid n=50",
        "grid n=25",
    ]


def test_a_fault_at_one_size_only_is_found():
    def fault(arrays: Arrays) -> None:
        if arrays[0].size == 50:
            arrays[0][49] += 1

    verdict = spoiled(symbolic(50), fault)
    assert verdict.numerics is Numerics.WRONG
    assert verdict.reason is not None
    assert "n=50" in verdict.reason


def with_source(kernel: Compiled, change: Callable[[str], str]) -> Compiled:
    """The same kernel in another text."""
    program = replace(kernel.program, source=change(kernel.program.source))
    return replace(kernel, program=program)


def test_bits_that_equal_the_old_ones_are_exact():
    new = compiled(unary("EXP2", 40), LLVM)
    old = with_source(new, lambda text: text + "@another = global i32 0\n")
    alone = verify(new, open_device("llvm"), "seed")
    beside = verify(new, open_device("llvm"), "seed", old=old)
    assert alone.numerics is Numerics.BOUNDED
    assert beside.numerics is Numerics.EXACT
    assert beside.beside is Beside.RUN
    assert all(run.equals_old for run in beside.runs)


class Counting:
    """The LLVM device, with a note of what it has built."""

    def __init__(self) -> None:
        self.built: list[str] = []
        self._device = open_device("llvm")

    def __getattr__(self, name: str) -> object:
        return getattr(self._device, name)

    def build(self, program: Program) -> Executable:
        self.built.append(program.source)
        return self._device.build(program)


def test_a_kernel_in_other_blanks_is_run_once_and_says_so():
    new, device = compiled(unary("EXP2", 40), LLVM), Counting()
    old = with_source(new, lambda text: text.replace("\n", "  \n; a comment\n"))
    verdict = verify(new, device, "seed", old=old)
    assert device.built == [new.program.source]
    assert (verdict.numerics, verdict.beside) == (Numerics.EXACT, Beside.TEXT)


@pytest.mark.parametrize(
    "change", [{"name": "another"}, {"launch": Launch((8,))}], ids=["name", "launch"]
)
def test_one_text_is_no_one_program_under_another_name_or_launch(change):
    new = compiled(unary("EXP2", 40))
    old = replace(new, program=replace(new.program, **change))
    assert verify(new, open_device("reference"), "seed", old=old).beside is Beside.RUN


def test_a_kernel_in_other_blanks_that_is_wrong_is_wrong():
    new = with_source(compiled(binary("SUB", 40), LLVM), lambda text: text.replace("fsub", "fadd"))
    old = with_source(new, lambda text: text + " ")
    verdict = verify(new, open_device("llvm"), "seed", old=old)
    assert (verdict.numerics, verdict.beside) == (Numerics.WRONG, Beside.TEXT)


def test_a_wrong_result_that_was_as_wrong_before_says_so():
    ast = binary("SUB", 40)
    verdict = verify(compiled(ast), Faulty(zeros), "seed", old=compiled(ast))
    assert verdict.numerics is Numerics.WRONG
    assert verdict.reason is not None
    assert verdict.reason.endswith("as before")


def test_the_reason_names_the_first_wrong_element_and_how_many():
    def fault(arrays: Arrays) -> None:
        arrays[0][3] = 1000
        arrays[0][7] = 1000

    verdict = spoiled(binary("SUB", 40, dtype="int32"), fault, kinds=(Kind.GRID,))
    assert verdict.reason is not None
    assert verdict.reason.startswith("data0[3] is 1000, expected ")
    assert "2 of 40 wrong (grid)" in verdict.reason


def test_backends_that_give_the_same_bits_have_the_same_digest():
    ast = binary("FDIV", 40)
    verdicts = [right(ast), verify(compiled(ast, LLVM), open_device("llvm"), "seed")]
    assert verdicts[0].digest == verdicts[1].digest
    assert verdicts[0].digest != spoiled(ast, flip_last).digest


def test_the_worst_run_decides():
    runs = right(KERNELS["difference"]).runs
    worst = replace(runs[1], numerics=Numerics.UNDECIDED)
    assert verdict_of([runs[0], worst, runs[2]]).numerics is Numerics.UNDECIDED


def test_outputs_start_with_values_that_are_wrong_for_every_element():
    ast = KERNELS["comparison"]
    for case in cases(ast, compiled(ast).program.arguments, "seed"):
        assert np.all(case.sample.contents[0] != case.bounds[0].value)
