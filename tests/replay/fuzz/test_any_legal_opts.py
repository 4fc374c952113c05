"""Any legal sequence of opts on any kernel keeps the result: against the reference, per backend.

500 examples in all; OpenCL has fewer, because PoCL builds a kernel in half a second.
"""

import sys
from collections import Counter

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from compiler import find_target, print_node
from compiler.kernel import OPTS, format_opts
from replay.fuzz.asts import asts
from replay.fuzz.examine import Examined, Question, examine
from replay.fuzz.schedules import count_opts, schedules

_NEED_GROUPS = ("Local", "Group", "GroupTop", "NoLocals")
EXAMPLES = {"llvm": 440, "opencl": 60}


def _known(backend):
    """The opts that are legal somewhere on the target."""
    has_groups = find_target(backend).capabilities.has_local
    legal = [o.__name__ for o in OPTS if has_groups or o.__name__ not in _NEED_GROUPS]
    return sorted(name for name in legal if name != "Tc")  # no core on these targets


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
    assert sorted(counts) == _known(backend)
    assert mean >= 3
