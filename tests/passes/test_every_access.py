"""Every access of every kernel is inside of its buffer, for all sizes: seeds, drawn kernels,
symbolic ones. `proof` decides it, which shares nothing with the pass that guards accesses.
"""

import itertools
from dataclasses import replace
from pathlib import Path

import pass_checks as k
import proof
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import corpus
from compiler import CompileStarted, Tensor, Variable, compile_kernel, find_target, observing
from compiler.ir import BOOL, FLOAT32, INT32, AxisKind, Op, const, intern, substitute
from replay.codec import decode_ast, decode_options, decode_opts_for, decode_target
from replay.fuzz.asts import asts, images
from replay.fuzz.schedules import schedules
from tests.frontend.symbolic_cases import ALL, rows

SEEDS = sorted((Path(__file__).parents[2] / "corpus" / "seeds").glob("*.txt"))
DRAWN = settings(
    deadline=None,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
SYMBOLIC = ("conv", "conv over it", "transpose", "some rows", "pad", "take rows", "along", "tile")


def programs(path, step):
    """The programs of every `step`-th record of a corpus."""
    with corpus.open_reader(path) as reader:
        for stored in itertools.islice(corpus.select(reader, corpus.Selection()), 0, None, step):
            record = stored.record
            compiled = compile_kernel(
                decode_ast(record),
                decode_target(record),
                decode_options(record),
                decode_opts_for(record, record.applied),
            )
            if compiled.stages:  # the reference runs the AST
                yield stored.key, compiled.stages[-1].node


def unproven(program):
    return [access for access in proof.accesses(program) if not proof.is_proven(access)]


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
def test_every_access_of_some_seeds_is_proven(path):
    found = {key: unproven(program) for key, program in programs(path, 9)}
    assert found
    assert not any(found.values()), found


@pytest.mark.slow
@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
def test_every_access_of_every_seed_is_proven(path):
    found = {key: unproven(program) for key, program in programs(path, 1)}
    assert not any(found.values()), found


@seed(20261202)
@settings(DRAWN, max_examples=40)
@given(st.data(), st.sampled_from(("llvm", "opencl", "opencl/pocl")))
def test_every_access_of_a_drawn_kernel_under_drawn_opts_is_proven(data, name):
    target = find_target(name)
    _, ast = data.draw(asts())
    opts = data.draw(schedules(ast, target, fewest=2))
    assert not unproven(compile_kernel(ast, target, opts=opts).stages[-1].node)


@seed(20261202)
@settings(DRAWN, max_examples=25)
@given(st.data())
def test_every_access_of_a_drawn_kernel_with_images_is_proven(data):
    target = find_target("opencl/pocl")
    ast = images(data.draw)
    opts = data.draw(schedules(ast, target))
    assert not unproven(compile_kernel(ast, target, opts=opts).stages[-1].node)


@pytest.mark.parametrize("name", SYMBOLIC)
def test_every_access_of_a_kernel_of_symbolic_size_is_proven(name):
    started = []
    with observing(started.append):
        x = Tensor(rows(5), device="reference").bind(Variable("n", 1, 64))
        ALL[name](x).numpy()
    kernels = [event.ast for event in started if isinstance(event, CompileStarted)]
    assert kernels
    for ast, target in itertools.product(kernels, ("llvm", "opencl")):
        assert not unproven(compile_kernel(ast, find_target(target)).stages[-1].node)


# --- what is dropped is missed ---


def without_guards(program):
    """Each access that is not bounded by itself, without what keeps it inside."""
    for access in proof.accesses(program):
        if not proof.is_bounded(access):
            chosen = [node for node in _sums(access.offset) if node.op is Op.WHERE]
            open_offset = substitute(access.offset, {node: node.src[1] for node in chosen})
            yield replace(access, offset=open_offset, conditions=())


def _sums(offset):
    yield offset
    if offset.op in (Op.ADD, Op.SUB, Op.MUL):
        for child in offset.src:
            yield from _sums(child)


GUARDED = [
    (k.MATMUL, "PADTO g1 16"),
    (k.MATMUL, "PADTO g0 3; UPCAST g0 3"),
    (k.MATMUL, "PADTO r0 5"),
    (k.PADDED_POOL, ""),
    (k.PADDED_POOL, "UPCAST g1 5"),
]


@pytest.mark.parametrize(("text", "opts"), GUARDED)
def test_a_guard_that_is_dropped_is_missed(text, opts):
    program = k.stages(text, opts, find_target("llvm"))["linearize"]
    planted = [access for access in without_guards(program) if not proof.is_bounded(access)]
    assert not unproven(program)
    assert planted
    assert not any(map(proof.is_proven, planted))


def test_every_guard_of_some_seeds_is_missed_where_it_is_dropped():
    planted = [each for _, program in programs(SEEDS[-1], 5) for each in without_guards(program)]
    found = [proof.is_proven(access) for access in planted]
    needless = [proof.is_bounded(access) for access in planted]  # what they guard is a value
    assert found == needless
    assert needless.count(False) >= 10


def test_a_branch_that_is_dropped_is_missed():
    program = k.stages(k.MATMUL, "PADTO g0 3", find_target("llvm"))["linearize"]
    kept = tuple([node for node in program.src if node.op not in (Op.IF, Op.ENDIF)])
    (left,) = unproven(intern(Op.PROGRAM, program.dtype, kept))
    assert left.node.op is Op.WRITE


# --- the judge ---


def _index(name, size):
    return intern(Op.RANGE, INT32, (const(INT32, size),), (name, AxisKind.GLOBAL))


FIVE, FOUR = _index("i", 5), _index("j", 4)
_NUMBERS = st.integers(-3, 5)


def _sum(i, j, constant):
    parts = [intern(Op.MUL, INT32, (x, const(INT32, n))) for x, n in ((FIVE, i), (FOUR, j))]
    total = intern(Op.ADD, INT32, tuple(parts))
    return intern(Op.ADD, INT32, (total, const(INT32, constant)))


@given(
    st.tuples(_NUMBERS, _NUMBERS, _NUMBERS),
    st.lists(
        st.tuples(st.sampled_from((Op.LT, Op.LE)), *[_NUMBERS] * 3, st.booleans()), max_size=3
    ),
    st.integers(1, 30),
    st.integers(1, 4),
)
@settings(max_examples=300, deadline=None, database=None)
def test_what_is_proven_is_inside_for_every_index(offset, limits, size, count):
    conditions = []
    for op, i, j, constant, is_upper in limits:
        pair = (_sum(i, j, constant), const(INT32, 4))
        conditions.append(intern(op, BOOL, pair if is_upper else pair[::-1]))
    buffer = intern(Op.BUFFER, FLOAT32, (), (1, size))
    node = intern(Op.READ, FLOAT32.vec(count) if count > 1 else FLOAT32, (buffer, _sum(*offset)))
    access = proof.Access(node, node.src[1], 0, count, size, tuple(conditions))
    if not proof.is_proven(access):
        return
    for i, j in itertools.product(range(5), range(4)):
        held = [_truth(op, i, j, *rest) for op, *rest in limits]
        at = offset[0] * i + offset[1] * j + offset[2]
        assert not all(held) or 0 <= at <= size - count


def _truth(op, i, j, x, y, constant, is_upper):
    value = x * i + y * j + constant
    less, more = (value, 4) if is_upper else (4, value)
    return less < more if op is Op.LT else less <= more
