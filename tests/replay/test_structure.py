"""Digests of stages: equal for equal graphs, in whatever process, and for nothing else."""

import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from programs import DIFFERENCE, ROW_SUMS, record_of

from compiler import compile_kernel, find_target, parse_node, print_node
from compiler.ir import FLOAT32, Op, const, intern, toposort
from replay.artefact import Artefact
from replay.compare.diff import first_stage_that_differs
from replay.structure import order_of, stage_digests

TEXT = ROW_SUMS.format(rows=3, columns=12, all=36)


def digest(*roots):
    return [value for _, value in stage_digests(("", root) for root in roots)]


def negated(value):
    return intern(Op.NEG, FLOAT32, (value,))


def test_the_same_compile_gives_the_same_digests_in_another_process_and_after_others():
    program = (
        "from compiler import *\nfrom replay.structure import stage_digests\nimport sys\n"
        f"ast = parse_node({TEXT!r})\n"
        "stages = compile_kernel(ast, find_target('llvm')).stages\n"
        "print(stage_digests((stage.name, stage.node) for stage in stages))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        env={"PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    compile_kernel(parse_node(DIFFERENCE.format(size=4)), find_target("llvm"))
    stages = compile_kernel(parse_node(TEXT), find_target("llvm")).stages
    assert done.stdout == f"{stage_digests((stage.name, stage.node) for stage in stages)}\n"


def test_digests_are_those_that_older_records_hold():
    assert digest(parse_node(TEXT)) == ["s4bfc53452a7c06e"]


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_a_program_is_in_the_order_of_a_walk(backend):
    program = compile_kernel(parse_node(TEXT), find_target(backend)).stages[-1].node
    assert program.op is Op.PROGRAM
    assert list(order_of(program)) == toposort(program)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (const(FLOAT32, 0.0), const(FLOAT32, -0.0)),
        (const(FLOAT32, 1.0), negated(const(FLOAT32, 1.0))),
        (
            intern(Op.SUB, FLOAT32, (const(FLOAT32, 1.0), const(FLOAT32, 2.0))),
            intern(Op.SUB, FLOAT32, (const(FLOAT32, 2.0), const(FLOAT32, 1.0))),
        ),
        (parse_node(TEXT), parse_node(TEXT.replace("op=ADD", "op=MAX"))),
        (parse_node(TEXT), parse_node(TEXT.replace("(12,1)", "(1,3)"))),
    ],
    ids=["sign of zero", "op", "order", "attribute", "view"],
)
def test_graphs_that_differ_have_digests_that_differ(one, other):
    assert digest(one) != digest(other)


def test_a_stage_that_changes_nothing_keeps_its_digest():
    one = const(FLOAT32, 1.0)
    first, second, third = digest(one, one, negated(one))
    assert first == second != third


def test_digests_part_at_the_first_stage_that_differs():
    one, two = const(FLOAT32, 1.0), const(FLOAT32, 2.0)
    assert digest(one, negated(one))[0] == digest(one, negated(two))[0]
    assert digest(one, negated(one))[1] != digest(one, negated(two))[1]


def test_records_with_digests_of_texts_still_tell_where_compiles_parted():
    stages = compile_kernel(parse_node(TEXT), find_target("llvm")).stages
    texts = tuple((stage.name, print_node(stage.node)) for stage in stages)
    record = record_of(TEXT)
    new = Artefact(
        name="n",
        source="new",
        applied=(),
        launch=None,
        arguments=(),
        estimates=None,
        stages=record.stages,
        texts=texts,
    )
    old_digests = [(name, sha256(text.encode()).hexdigest()[:16]) for name, text in texts]
    old_digests[3] = (old_digests[3][0], "0" * 16)
    old = msgspec.structs.replace(new, stages=tuple(old_digests), texts=(), source="old")
    assert first_stage_that_differs(old, new) == texts[3][0]
