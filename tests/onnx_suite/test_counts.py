"""How many kernels a model launches does not depend on what ran before it.

Equal constants are one value, which is not computed again while it is in memory; so nothing that a
run made may outlive it, not even until Python next looks for circles.
"""

import gc

import pytest

from compiler.frontend.graph import Value
from tests.onnx_suite.node_cases import cases_of, launches_of

MODULES = ("attention", "clip", "dropout", "if_", "loop", "lstm", "reducesumsquare", "scan")
CONSTANT = ["dropout_default_mask_ratio", "reduce_sum_square_empty_set"]
OTHERS = ["attention_4d", "clip_expanded", "if_seq", "loop13_seq", "lstm_defaults", "scan_sum"]


@pytest.fixture(scope="module")
def cases():
    return cases_of(*MODULES)


@pytest.fixture
def uncollected():
    """Only what nothing refers to is freed."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def living():
    return {id(item) for item in gc.get_objects() if isinstance(item, Value)}


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("name", CONSTANT)
def test_a_constant_result_takes_a_kernel_every_time(cases, name):
    case = cases[f"test_{name}_cpu"]
    assert [launches_of(case, "reference") for _ in range(3)] == [1, 1, 1]


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("name", CONSTANT + OTHERS)
def test_what_a_model_made_is_gone_when_it_has_run(cases, name):
    before = living()
    launches_of(cases[f"test_{name}_cpu"], "reference")
    assert living() <= before
