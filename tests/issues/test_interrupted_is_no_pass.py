"""Found by ctrl-C while kernels were run: all had been compiled, so the report said `gate passed`.

Their kind: a replay that did not do all that it was asked for has not passed. Its files say so,
too, since who reads them never sees the exit code.
"""

import json

import pytest

from replay.gate import pass_or_fail
from replay.outcome import Outcome, Result
from replay.policy import DEFAULT

SAME = [Result(key=f"{number:064x}", outcome=Outcome.SAME) for number in range(3)]


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_replay_passes_only_when_it_came_to_its_end(is_interrupted):
    gate = pass_or_fail(SAME, DEFAULT, is_interrupted=is_interrupted)
    assert gate.passed is not is_interrupted
    assert json.dumps(gate.why).count("interrupted") == is_interrupted
