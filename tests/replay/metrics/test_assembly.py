"""Instructions by class, counted in assembly."""

import pytest

from replay.metrics.assembly import code_of, instructions_in, loops_in

TWO_LOOPS = """\
	.globl	kernel
kernel:
	pushq	%rbx
	subq	$72, %rsp
	movq	%rcx, 8(%rsp)
	movq	96(%rsp), %rax
	vxorps	%xmm0, %xmm0, %xmm0
.LBB0_1:
	xorl	%ebx, %ebx
.LBB0_2:
	vaddps	(%rdi,%rbx,4), %zmm0, %zmm0
	addq	$16, %rbx
	cmpq	%rax, %rbx
	jl	.LBB0_2
	vmovups	%zmm0, (%rsi)
	decq	8(%rsp)
	jne	.LBB0_1
	callq	expf@PLT
	addq	$72, %rsp
	popq	%rbx
	retq
	.size	kernel, .-kernel
"""


@pytest.fixture(scope="module")
def code():
    return code_of(TWO_LOOPS)


def test_labels_and_directives_are_no_instructions(code):
    assert code.instructions == len(list(instructions_in(TWO_LOOPS))) == 17


def test_a_vector_instruction_may_load_as_well(code):
    assert code.vector == 3
    assert code.loads == 3  # the parameter, the addend, the counter that is changed in place
    assert code.stores == 3


def test_what_is_neither_vector_nor_jump_nor_call_is_scalar(code):
    assert (code.branches, code.calls) == (2, 1)
    assert code.scalar == code.instructions - code.vector - code.branches - code.calls


def test_a_parameter_on_the_stack_is_no_reload(code):
    assert (code.spills, code.reloads) == (2, 1)


def test_registers_count_once_under_all_their_names(code):
    assert (code.vector_registers, code.vector_bits) == (1, 512)
    assert code.general_registers == 5  # a, b, c, si, di


def test_loops_are_what_is_jumped_back_to(code):
    assert code.loops == 2
    lines = TWO_LOOPS.splitlines()
    assert [lines[start] for start, _ in loops_in(TWO_LOOPS)] == [".LBB0_2:", ".LBB0_1:"]


def one(line):
    return code_of(f"kernel:\n\t{line}\n\tretq\n")


@pytest.mark.parametrize(
    "line",
    ["vaddps\t%ymm0, %ymm1, %ymm2", "vpmaxsd\t%xmm0, %xmm1, %xmm2", "vbroadcastss\t(%rdi), %zmm1",
     "vcvttps2dq\t%xmm0, %xmm1", "kandw\t%k1, %k2, %k1", "vmovups\t(%rdi), %xmm1 {%k1} {z}"],
)  # fmt: skip
def test_work_on_all_lanes_is_vector(line):
    assert (one(line).vector, one(line).scalar) == (1, 1)


@pytest.mark.parametrize(
    "line",
    ["vaddss\t%xmm0, %xmm1, %xmm2", "vcvtsi2sd\t%rax, %xmm0, %xmm0", "vucomisd\t%xmm0, %xmm1",
     "vpextrd\t$1, %xmm0, %eax", "vmovd\t%xmm0, %eax", "vcmpltsd\t%xmm0, %xmm1, %k1",
     "movq\tlane_mm(%rip), %rax"],
)  # fmt: skip
def test_work_on_one_lane_is_scalar(line):
    assert (one(line).vector, one(line).scalar) == (0, 2)


@pytest.mark.parametrize("line", ["leaq\t(%rdi,%rsi), %rax", "prefetcht0\t(%rdi)", "nopw\t8(%rax)"])
def test_an_address_that_is_only_computed_is_no_access(line):
    assert (one(line).loads, one(line).stores) == (0, 0)


def test_a_frame_pointer_is_told_from_a_general_register():
    framed = code_of("k:\n\tmovq\t%rsp, %rbp\n\tmovq\t%rax, -8(%rbp)\n\tretq\n")
    general = code_of("k:\n\tmovq\t%rdi, %rbp\n\tmovq\t%rax, -8(%rbp)\n\tretq\n")
    assert (framed.spills, general.spills) == (1, 0)


def test_assembly_of_another_instruction_set_is_not_guessed():
    assert code_of("kernel:\n\tldr\tq0, [x0]\n\tstr\tq0, [x1]\n\tret\n") is None
