"""Machine code for CPUs that are not here: made by LLVM, shown and never run."""

import re

import pytest

from compiler import compile_kernel, find_target, open_device
from compiler.explain import Question, explain
from compiler.ir import find_core
from compiler.kernel import Tc
from tests.kernel.products import matmul

SINGLE, BF16 = find_core("cpu.outer16x16.f32"), find_core("cpu.dpbf16ps")
CODES = {  # what each has and the others have not
    "x86-64-v3": (r"\bvfmadd\d+ps\b.*%ymm", r"%zmm"),
    "x86-64-v4": (r"\bvfmadd\d+ps\b.*%zmm", r"\bvdpbf16ps\b"),
    "aarch64": (r"\bfmla\s+v\d+\.4s", r"%[xyz]mm"),
}


def shown(ast, name, opts=None):
    """The asm of an explanation."""
    question = Question(ast, find_target(f"llvm/{name}"), opts=opts)
    (section,) = [each for each in explain(question).sections if each.title == "asm"]
    return "\n".join(section.lines)


@pytest.mark.parametrize("name", CODES)
def test_code_is_that_of_the_profiles_cpu(name):
    there, not_there = CODES[name]
    text = shown(matmul(16, 32, 16, SINGLE), name)
    assert re.search(there, text)
    assert not re.search(not_there, text)


def test_code_for_a_tensor_core_has_its_instruction():
    text = shown(matmul(16, 32, 16, BF16), "x86-64-v4-bf16", (Tc(BF16.name, "g1", "g0", "r0"),))
    assert "vdpbf16ps" in text


def test_code_for_another_cpu_is_the_same_wherever_it_is_made():
    device, target = open_device("llvm"), find_target("llvm/aarch64")
    program = compile_kernel(matmul(16, 32, 16, SINGLE), target).program
    assert device.assembly_elsewhere(program) == device.assembly_elsewhere(program)
    assert device.assembly(program) != device.assembly_elsewhere(program)


def test_a_machine_that_llvm_does_not_know_has_no_code_and_a_reason():
    assert shown(matmul(16, 32, 16, SINGLE), "dsp").startswith("none: llvm/dsp: this is ")


def test_profiles_of_the_host_show_its_own_code():
    assert "none:" not in shown(matmul(16, 32, 16, SINGLE), "tiles")
