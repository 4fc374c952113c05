"""Instructions by class in assembly for AArch64, of a CPU that is not there."""

import json

import msgspec
import pytest
from programs import DIFFERENCE, ROW_SUMS, SPACING, SWAP_SUB, make_corpus, patched, run

from compiler import CompileStarted, compile_kernel, find_target, observing, open_device, parse_node
from replay.codec import finished_fields, started_record
from replay.metrics import assembly, compare_code
from replay.metrics.aarch64 import code_of, instructions_in, loops_in

TWO_LOOPS = """\
	.globl	kernel
kernel:
	stp	d9, d8, [sp, #-64]!
	stp	x29, x30, [sp, #16]
	str	x19, [sp, #32]                  // 8-byte Folded Spill
	sub	sp, sp, #32
	str	x3, [sp, #8]
	ldr	x9, [sp, #96]
	movi	v0.2d, #0000000000000000
	fmov	s8, wzr
.LBB0_1:
	mov	x19, xzr
.LBB0_2:
	ldp	q1, q2, [x0], #32
	fadd	v0.4s, v0.4s, v1.4s
	fmla	v0.4s, v2.4s, v3.s[1]
	mov	s4, v0.s[3]
	subs	x19, x19, #1
	b.ne	.LBB0_2
	str	q0, [x1]
	ldr	x10, [sp, #8]
	cbnz	x10, .LBB0_1
	bl	expf
	add	sp, sp, #32
	ldr	x19, [sp, #32]                  // 8-byte Folded Reload
	ldp	x29, x30, [sp, #16]
	ldp	d9, d8, [sp], #64
	ret
	.size	kernel, .-kernel
"""
SVE = """\
kernel:
	ptrue	p0.s
.LBB0_1:
	ld1w	{ z0.s }, p0/z, [x0, x8, lsl #2]
	fadd	z0.s, z0.s, z1.s
	st1w	{ z0.s }, p0, [x1, x8, lsl #2]
	incw	x8
	whilelo	p0.s, x8, x2
	b.mi	.LBB0_1
	ret
"""


@pytest.fixture(scope="module")
def code():
    return code_of(TWO_LOOPS)


def test_labels_and_directives_are_no_instructions(code):
    assert code.instructions == len(list(instructions_in(TWO_LOOPS))) == 24


def test_a_vector_instruction_may_load_as_well(code):
    assert code.vector == 5  # movi, the pair of loads, fadd, fmla by a lane, the store of q0
    assert code.loads == 6  # a parameter, a pair, a reload, and three of what was saved
    assert code.stores == 5


def test_one_lane_is_a_scalar(code):
    assert code.scalar == code.instructions - code.vector - code.branches - code.calls
    assert (code.branches, code.calls) == (2, 1)


def test_registers_of_the_caller_are_saved_and_not_spilled(code):
    assert (code.spills, code.reloads) == (1, 1)  # x3; what lies above is a parameter


def test_a_register_counts_once_under_all_its_names(code):
    assert (code.vector_bits, code.vector_registers) == (128, 7)  # 0 to 4, 8 and 9
    assert code.general_registers == 8  # x0, x1, x3, x9, x10, x19, x29, x30


def test_loops_are_where_the_code_jumps_back_to():
    assert len(loops_in(TWO_LOOPS)) == 2


def test_scalable_vectors_are_as_wide_as_the_least_there_is():
    code = code_of(SVE)
    assert (code.vector, code.loads, code.stores, code.loops) == (5, 1, 1, 1)
    assert code.vector_bits == 128


def test_neither_instruction_set_is_taken_for_the_other():
    assert code_of("\tvaddps\t%zmm0, %zmm0, %zmm0\n\tretq\n") is None
    assert assembly.code_of(TWO_LOOPS) is None


def test_no_model_of_another_cpu_is_asked_for_cycles():
    assert "cycles" not in compare_code(TWO_LOOPS, SVE)


def test_what_llvm_writes_for_the_profile_is_understood():
    target = find_target("llvm/aarch64")
    ast = parse_node(ROW_SUMS.format(rows=64, columns=64, all=4096))
    text = open_device("llvm").assembly(compile_kernel(ast, target).program)
    code = code_of(text)
    assert (code.vector_bits, code.loops, code.spills, code.calls) == (128, 1, 0, 0)
    assert code.vector > code.scalar > 0


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """One kernel for AArch64, as a capture records it."""
    events = []
    with observing(events.append):
        compile_kernel(parse_node(DIFFERENCE.format(size=64)), find_target("llvm/aarch64"))
    started = next(event for event in events if isinstance(event, CompileStarted))
    record = msgspec.structs.replace(started_record(started), **finished_fields(events[-1]))
    return make_corpus(tmp_path_factory.mktemp("corpora") / "c", [record])


@pytest.mark.parametrize(("patch", "machine_code"), [(SPACING, "equal"), (SWAP_SUB, "differs")])
def test_a_change_of_a_kernel_that_is_only_compiled_is_measured(
    capsys, corpus, tmp_path, patch, machine_code
):
    copy = patched(tmp_path / "copy", patch)
    words = ("--compiler", copy, "--jobs", "1", "--no-skip", "--report", "json:-")
    _, out, err = run(capsys, "run", "--corpus", corpus, *words)
    assert out, err
    (record,) = json.loads(out)["records"]
    assert (record["numerics"], record["machine_code"]) == ("skipped", machine_code)
    assert record["metrics"]["vector_bits"] == {"old": 128, "new": 128}
