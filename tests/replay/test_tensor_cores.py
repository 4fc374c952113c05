"""What a tensor core may give is right, a hair more is wrong: bounds that are derived for it."""

import re
from dataclasses import replace

import numpy as np
import pytest

from compiler import compile_kernel, find_target, open_device, parse_node, print_node
from compiler.backends import arguments_of
from compiler.backends.reference import NATIVE_ULP, evaluate
from compiler.ir import CORES, Op, find_core
from compiler.kernel import Tc, apply_all, from_ast, to_nodes
from compiler.passes import run_pipeline
from compiler.rules import Builder
from replay.numerics import stagewise
from replay.numerics.allowance import Allowance
from replay.numerics.inputs import Kind
from replay.numerics.verify import Observation, cases, judge, verify
from replay.outcome import Numerics
from tests.kernel.products import matmul, target_of

FLOATS = [core.name for core in CORES if core.dtypes[2].is_float]
TF32, BF16 = find_core("nvidia.m16n8k8.tf32"), find_core("cpu.dpbf16ps")
NARROW = """ir 1
%0 = BUFFER float32 slot=0 size=512
%1 = BUFFER bfloat16 slot=1 size=192
%2 = LOAD bfloat16 %1 view=[(16,32,12):(12,0,1)]
%3 = BUFFER bfloat16 slot=2 size=384
%4 = LOAD bfloat16 %3 view=[(16,32,12):(0,1,32)]
%5 = MUL bfloat16 %2 %4
%6 = CAST float32 %5
%7 = REDUCE float32 %6 op=ADD axes=(r0)
%8 = STORE void %0 %7 view=[(16,32,12):(32,1,0)]
%9 = SINK void %8 axes=(g0:16,g1:32,r0:12)
"""


def product(core):
    return matmul(2 * core.size("m"), core.size("n"), 3 * core.size("k"), core)


def on_core(core, ast):
    """The PROGRAM that multiplies on the core."""
    target, builder = target_of(core), Builder()
    kernel = apply_all(from_ast(ast), (Tc(core.name, "g1", "g0", "r0"),), target)
    nodes = to_nodes(kernel, builder, target.capabilities)
    return run_pipeline(nodes, target, builder=builder)[-1].node


def runs(core, ast, *kinds):
    allowance = Allowance(NATIVE_ULP, core)
    return cases(ast, arguments_of(ast), "seed", kinds or tuple(Kind), allowance)


def contents(case):
    """The inputs of a case by slot."""
    return {slot: x for slot, x in enumerate(case.sample.contents) if slot and x is not None}


def judged(case, result):
    return judge(case, Observation({0: result})).numerics


@pytest.mark.parametrize("name", FLOATS)
def test_what_a_core_gives_is_right(name):
    core = find_core(name)
    ast = product(core)
    program = on_core(core, ast)
    for case in runs(core, ast):
        assert judged(case, evaluate(program, contents(case))[0]) is not Numerics.WRONG


@pytest.mark.parametrize("name", FLOATS)
def test_an_element_a_hair_beyond_the_bound_is_wrong(name):
    core = find_core(name)
    ast = product(core)
    program = on_core(core, ast)
    (case,) = runs(core, ast, Kind.DENSE)
    right, bound = evaluate(program, contents(case))[0], case.bounds[0]
    for share, is_right in ((0.9, True), (1.1, False)):
        result = right.copy()
        place = int(np.argmax(bound.error))
        least = 2 * np.spacing(np.float32(bound.value[place])) * (not is_right)
        result[place] = bound.value[place] + share * bound.error[place] + least
        assert (judged(case, result) is not Numerics.WRONG) is is_right


@pytest.mark.parametrize("name", FLOATS)
def test_one_term_less_is_wrong(name):
    core = find_core(name)
    ast = product(core)
    program = on_core(core, ast)
    for case in runs(core, ast, Kind.GRID, Kind.DENSE):
        given = {slot: x.copy() for slot, x in contents(case).items()}
        term = given[1].reshape(2 * core.size("m"), -1)[:, 2]
        term[...] = 0
        assert judged(case, evaluate(program, given)[0]) is Numerics.WRONG


def _cut(array, bits):
    """Float32 with the first `bits` of each significand."""
    dropped = np.uint32((1 << (24 - bits)) - 1)
    return (array.view(np.uint32) & ~dropped).view(np.float32)


@pytest.mark.parametrize(("bits", "is_right"), [(12, True), (11, True), (9, False), (8, False)])
def test_tf32_may_drop_what_it_does_not_look_at_and_not_more(bits, is_right):
    ast = product(TF32)
    (case,) = runs(TF32, ast, Kind.DENSE)
    given = contents(case)
    given = {1: _cut(given[1], bits), 2: given[2] if is_right else _cut(given[2], bits)}
    wide = {slot: x.astype(np.float64) for slot, x in given.items()}
    m, n = 2 * TF32.size("m"), TF32.size("n")
    result = (wide[1].reshape(m, -1) @ wide[2].reshape(-1, n)).astype(np.float32).reshape(-1)
    if not is_right:  # in the direction that a sum of one sign adds up to
        positive = {slot: np.abs(x) for slot, x in contents(case).items()}
        case = _with(case, positive, ast)
        cut = {slot: _cut(x, bits).astype(np.float64) for slot, x in positive.items()}
        result = (cut[1].reshape(m, -1) @ cut[2].reshape(-1, n)).astype(np.float32).reshape(-1)
    assert (judged(case, result) is not Numerics.WRONG) is is_right


def _with(case, given, ast):
    """The case on other inputs."""
    bounds = Allowance(NATIVE_ULP, TF32).bounds(ast, given, {})
    return replace(case, bounds=bounds)


def test_a_core_that_cuts_short_is_wrong_where_nobody_asked_for_it():
    ast = product(TF32)
    (case,) = cases(ast, arguments_of(ast), "seed", (Kind.DENSE,))
    assert judged(case, evaluate(on_core(TF32, ast), contents(case))[0]) is Numerics.WRONG


def test_numbers_of_few_bits_are_exact_on_every_core():
    for name in FLOATS:
        core = find_core(name)
        (case,) = runs(core, product(core), Kind.GRID)
        assert not case.bounds[0].error.any()


@pytest.mark.parametrize("slots", [(1,), (2,), (1, 2)])
@pytest.mark.parametrize(
    ("profile", "name"),
    [
        ("nvidia-sm80", "nvidia.m16n8k16.f16"),
        ("amd-gfx90a", "amd.mfma16x16x16.f16"),
        ("intel-xmx", "intel.dpas8x8x16.f16"),
    ],
)
def test_a_core_takes_its_operands_from_images(profile, name, slots):
    text = print_node(matmul(32, 16, 32, find_core(name)))
    for slot in slots:
        text = re.sub(rf"BUFFER (\w+) (slot={slot} size=\d+)", r"IMAGE \1 \2 width=4", text)
    opts = (Tc(name, "g1", "g0", "r0"),)
    compiled = compile_kernel(parse_node(text), find_target(f"opencl/{profile}"), opts=opts)
    program = compiled.stages[-1].node
    assert any(node.op is Op.WMMA for node in program.src)
    assert "read_image" in compiled.program.source
    assert not stagewise.judged(program, stagewise.runs_of(compiled)).is_wrong


# --- on the host ---


@pytest.fixture
def host():
    device = open_device("llvm")
    why = device.why_unlike(find_target("llvm/x86-64-v4-bf16"))
    if why is not None:
        pytest.skip(why)
    return device


def _compiled(text_or_node, name="cpu.dpbf16ps"):
    ast = parse_node(text_or_node) if isinstance(text_or_node, str) else text_or_node
    opts = (Tc(name, "g1", "g0", "r0"),)
    return compile_kernel(ast, find_target("llvm/x86-64-v4-bf16"), opts=opts)


@pytest.mark.parametrize("name", ["cpu.outer16x16.f32", "cpu.dpbf16ps", "cpu.vpdpbusd"])
@pytest.mark.parametrize("terms", [12, 192])
def test_cores_of_the_host_are_right_on_all_inputs(host, name, terms):
    compiled = _compiled(matmul(16, 32, terms, find_core(name)), name)
    assert verify(compiled, host, "seed").numerics in (Numerics.EXACT, Numerics.BOUNDED)


def test_products_that_the_host_does_not_round_are_right_where_the_kernel_rounds_them(host):
    verdict = verify(_compiled(NARROW), host, "seed")
    assert verdict.numerics is Numerics.BOUNDED


@pytest.mark.parametrize("name", ["cpu.outer16x16.f32", "cpu.dpbf16ps", "cpu.vpdpbusd"])
def test_a_kernel_on_the_host_that_takes_a_wrong_row_is_wrong(host, name):
    core = find_core(name)
    compiled = _compiled(matmul(16, 32, 12, core), name)
    other = _turned(matmul(16, 32, 12, core))
    assert verify(replace(compiled, ast=other), host, "seed").numerics is Numerics.WRONG


def _turned(ast):
    """The product with the rows of b in the opposite order."""
    return parse_node(print_node(ast).replace("(0,1,32)]", "(0,1,-32)+352]"))
