"""`replay reduce`: small scripts that fail as their records did, and as nothing else does."""

import subprocess
import sys
from pathlib import Path

import pytest
from programs import (
    PADDED,
    ROW_SUMS,
    WRONG_PASS,
    WRONG_RULE,
    before_compiling,
    keys_of,
    make_corpus,
    patched,
    record_of,
)

from compiler import parse_node
from compiler.ir import Op, toposort
from compiler.kernel import parse_opts
from replay.reduce import Signature
from replay.reduce.example import Example
from replay.reduce.reducers import REDUCERS
from replay.reduce.shrink import shrink
from replay.reduce.signature import site_of_traceback

ROOT = Path(__file__).parents[2]
TWO_RESULTS = """ir 1
%0 = BUFFER float64 slot=0 size=96
%1 = BUFFER float64 slot=2 size=128
%2 = LOAD float64 %1 view=[(8,12,16):(16,0,1)]
%3 = CONST float64 value=0x1.8000000000000p+1 view=none
%4 = MUL float64 %2 %3
%5 = BUFFER float64 slot=3 size=192
%6 = LOAD float64 %5 view=[(8,12,16):(0,1,12)]
%7 = MUL float64 %4 %6
%8 = REDUCE float64 %7 op=ADD axes=(r0)
%9 = STORE void %0 %8 view=[(8,12,16):(12,1,0)]
%10 = BUFFER float64 slot=1 size=96
%11 = SQRT float64 %8
%12 = STORE void %10 %11 view=[(8,12,16):(12,1,0)]
%13 = SINK void %9 %12 axes=(g0:8,g1:12,r0:16)
"""
ABORTS = before_compiling(
    "import os",
    "if any(node.op.name == 'REDUCE' for node in toposort(ast)): os.abort()",
)
RAISES = before_compiling(
    "if any(node.op.name == 'REDUCE' for node in toposort(ast)): raise KeyError(1)",
)


def reduced(tmp_path, text, *patches, options=()):
    """Exit code, what was printed, the script, and the patched tree."""
    corpus = make_corpus(tmp_path / "corpus", [record_of(text)])
    tree = patched(tmp_path / "tree", *patches)
    (key,) = keys_of(corpus)
    script = tmp_path / "small.py"
    words = ("reduce", key, "--corpus", corpus, "--compiler", tree, "--out", script, *options)
    command = [sys.executable, "-m", "replay.cli", *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr, script, tree


@pytest.fixture(scope="module")
def masked(tmp_path_factory):
    """What is left of a padded copy under a compiler that has lost its guards."""
    return reduced(tmp_path_factory.mktemp("masked"), PADDED, WRONG_PASS)


def nodes_in(script):
    return [line for line in script.read_text().splitlines() if line.startswith("%")]


def outcome(script, *paths):
    environ = {"PYTHONPATH": ":".join(map(str, paths)), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-P", script], env=environ, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.strip()


def test_a_wrong_rule_is_left_with_one_operation(tmp_path):
    code, out, script, _ = reduced(tmp_path, TWO_RESULTS, WRONG_RULE)
    assert code == 0
    assert len(nodes_in(script)) == 7
    assert "wrong nodes" in out
    text = "\n".join(nodes_in(script))
    assert "MUL float32" in text
    assert "REDUCE" not in text
    assert "size=1" in text


def test_a_wrong_pass_is_left_with_one_masked_load(masked):
    code, out, script, _ = masked
    assert code == 0
    assert "wrong gates" in out
    assert len(nodes_in(script)) == 5
    assert "?(" in script.read_text()


def test_one_fault_does_not_become_another(tmp_path):
    """With both faults the mask alone would still be wrong, at another stage."""
    text = PADDED.replace(
        "%3 = STORE void %0 %2 view=[(37,41):(41,1)]\n%4 = SINK void %3",
        "%3 = CONST float32 value=0x1.8000000000000p+1 view=none\n%4 = MUL float32 %2 %3\n"
        "%5 = STORE void %0 %4 view=[(37,41):(41,1)]\n%6 = SINK void %5",
    )
    _, out, script, _ = reduced(tmp_path, text, WRONG_RULE, WRONG_PASS)
    assert "wrong nodes" in out
    assert any(" = MUL " in line for line in nodes_in(script))


def test_the_script_fails_with_the_compiler_in_question_and_not_with_another(masked):
    *_, script, tree = masked
    code, said = outcome(script, tree, ROOT)
    assert code == 1
    assert said.startswith("wrong gates")
    assert outcome(script, ROOT) == (0, "right")


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        pytest.param(ABORTS, "crash signal 6 (SIGABRT)", marks=pytest.mark.slow),  # many workers
        (RAISES, "raised KeyError"),
    ],
)
def test_a_compiler_that_crashes_is_left_with_what_makes_it(tmp_path, patch, said):
    text = ROW_SUMS.format(rows=6, columns=8, all=48)
    code, out, script, _ = reduced(tmp_path, text, patch, options=("--most", 9))
    assert code == 0
    assert said in out
    assert any("REDUCE" in line for line in nodes_in(script))
    assert len(nodes_in(script)) <= 5


def test_a_record_that_does_not_fail_is_said_in_one_line(tmp_path):
    code, out, script, _ = reduced(tmp_path, PADDED)
    assert code == 3
    assert out.count("\n") == 1
    assert "nothing is wrong" in out
    assert not script.exists()


# --- the loop ---


def example(text, opts="UPCAST g0 4; UNROLL r0 4", **options):
    return Example(parse_node(text), "llvm/cpu", options, parse_opts(opts))


def having(*ops):
    """Fails wherever all these ops are in the kernel."""

    def ask(question):
        found = {node.op for node in toposort(parse_node(question.ast))}
        return Signature("wrong" if found >= set(ops) else "right")

    return ask


def test_the_smallest_kernel_with_a_square_root_has_nothing_else():
    found = shrink(example(TWO_RESULTS), Signature("wrong"), having(Op.SQRT), 1000)
    order = toposort(found.example.ast)
    assert {node.op for node in order} == {Op.BUFFER, Op.CONST, Op.SQRT, Op.STORE, Op.SINK}
    assert found.example.opts == ()
    assert found.example.ast.attr[0][0][1] == 1
    assert found.is_done


def test_an_op_that_is_needed_keeps_an_axis_to_work_on():
    found = shrink(example(TWO_RESULTS), Signature("wrong"), having(Op.REDUCE, Op.LOAD), 1000)
    assert Op.SQRT not in {node.op for node in toposort(found.example.ast)}
    assert found.example.size[1] == 1


def test_options_become_defaults():
    given = example(TWO_RESULTS, **{"math.fma": False, "schedule.threaded": 4})
    found = shrink(given, Signature("wrong"), having(Op.SQRT), 1000)
    assert found.example.options == {}


def test_a_limit_ends_the_search_and_says_so():
    found = shrink(example(TWO_RESULTS), Signature("wrong"), having(Op.SQRT), 3)
    assert (found.asked, found.is_done) == (3, False)


def test_what_fails_only_as_it_is_stays_as_it_is():
    given = example(TWO_RESULTS)

    def ask(question):
        return Signature("wrong" if question == given.question else "right")

    assert shrink(given, Signature("wrong"), ask, 1000).example == given


ONE_COLUMN = """ir 1
%0 = BUFFER float32 slot=0 size=9
%1 = BUFFER float32 slot=1 size=9
%2 = LOAD float32 %1 view=[(3,1):(1,0)]
%3 = STORE void %0 %2 view=[(3,1):(1,0)]
%4 = SINK void %3 axes=(g0:3,g1:1)
"""


@pytest.mark.parametrize("reducer", REDUCERS, ids=lambda reducer: reducer.__name__)
def test_every_reducer_has_something_to_offer(reducer):
    options = {"math.fma": False}
    offered = [
        candidate
        for text in (TWO_RESULTS, PADDED, ONE_COLUMN)
        for candidate in reducer(example(text, **options))
    ]
    assert offered


def test_the_site_of_a_traceback_is_its_innermost_function_of_the_compiler():
    text = (
        'Traceback (most recent call last):\n  File "/a/replay/x.py", line 1, in f\n'
        '  File "/b/compiler/passes/gates.py", line 9, in _guard\n'
        '  File "/c/numpy/y.py", line 2, in g\n'
        "KeyError: 3"
    )
    assert site_of_traceback(text) == "KeyError compiler/passes/gates.py _guard"
