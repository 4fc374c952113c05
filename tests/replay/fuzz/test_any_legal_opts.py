"""Any legal sequence of opts on any kernel keeps the result: against the reference, per backend.

500 examples in all; OpenCL has fewer, because PoCL builds a kernel in half a second.
"""

import sys
from collections import Counter

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from compiler import find_target, parse_node, print_node
from compiler.kernel import OPTS, Keep, format_opts
from replay.fuzz.asts import asts
from replay.fuzz.examine import Examined, Question, examine
from replay.fuzz.schedules import count_opts, schedules

_RARE = ("Keep", "Tc")  # legal for few kernels: drawn more often below, and in test_tensor_cores
_NEED_GROUPS = ("Local", "Group", "GroupTop", "NoLocals")
EXAMPLES = {"llvm/tiles": 440, "opencl": 60}


def _known(backend):
    """The opts that are legal for most kinds of kernels on the target."""
    has_groups = find_target(backend).capabilities.has_local
    legal = [o.__name__ for o in OPTS if has_groups or o.__name__ not in _NEED_GROUPS]
    return sorted(name for name in legal if name not in _RARE)


@pytest.mark.parametrize("backend", EXAMPLES)
def test_any_legal_opt_sequence_preserves_the_result(backend):
    counts, lengths = Counter(), []

    @seed(20261202)
    @settings(
        max_examples=EXAMPLES[backend],
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def keeps_the_result(data):
        _, ast = data.draw(asts())
        opts = data.draw(schedules(ast, find_target(backend), fewest=3))
        question = Question(print_node(ast), format_opts(opts), (backend,))
        answer = examine(msgspec.msgpack.encode(question))
        failure = msgspec.msgpack.decode(answer, type=Examined).failure
        assert failure is None, f"{failure}\n{question.opts}\n{question.ast}"
        counts.update(count_opts(opts))
        lengths.append(len(opts))

    keeps_the_result()
    mean = sum(lengths) / len(lengths)
    said = (
        f"{backend}: {len(lengths)} kernels, {mean:.2f} opts each: {dict(sorted(counts.items()))}"
    )
    sys.stdout.write(f"{said}\n")
    assert len(lengths) >= EXAMPLES[backend]
    assert sorted({*counts} - {*_RARE}) == _known(backend)
    assert mean >= 3


SOFTMAX = """ir 1
%0 = BUFFER float32 slot=0 size={size}
%1 = BUFFER float32 slot=1 size={size}
%2 = LOAD float32 %1 view=[({rows},{terms},{terms}):({terms},1,0)]
%3 = {op} float32 %2
%4 = LOAD float32 %1 view=[({rows},{terms},{terms}):({terms},0,1)]
%5 = {op} float32 %4
%6 = REDUCE float32 %5 op=ADD axes=(r0)
%7 = FDIV float32 %3 %6
%8 = STORE void %0 %7 view=[({rows},{terms},{terms}):({terms},1,0)]
%9 = SINK void %8 axes=(g0:{rows},g1:{terms},r0:{terms})
"""


def test_keeping_the_terms_of_a_row_preserves_the_result():
    """Few drawn kernels need the terms of a sum again, so that KEEP is legal: these all do."""
    target, kept = find_target("llvm"), []

    @seed(20261202)
    @settings(max_examples=60, deadline=None, database=None, phases=(Phase.generate, Phase.shrink))
    @given(st.data(), st.integers(1, 13), st.integers(2, 24), st.sampled_from(("EXP2", "NEG")))
    def keeps_the_result(data, count, terms, op):
        ast = parse_node(SOFTMAX.format(rows=count, terms=terms, size=count * terms, op=op))
        opts = data.draw(schedules(ast, target, fewest=3))
        question = Question(print_node(ast), format_opts(opts), ("llvm",))
        answer = examine(msgspec.msgpack.encode(question))
        assert msgspec.msgpack.decode(answer, type=Examined).failure is None, question
        kept.append(any(isinstance(opt, Keep) for opt in opts))

    keeps_the_result()
    assert sum(kept) > 5
