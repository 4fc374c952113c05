"""Drawn kernels with images under drawn opts: a device with images against the reference."""

import sys

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from compiler import find_target, open_device, print_node
from compiler.errors import DeviceError
from compiler.ir import Op, toposort
from compiler.kernel import format_opts
from replay.fuzz.asts import images
from replay.fuzz.examine import Examined, Question, examine
from replay.fuzz.schedules import schedules

EXAMPLES = (12, pytest.param(150, marks=pytest.mark.slow))  # PoCL builds each for half a second


@pytest.fixture(scope="module", autouse=True)
def a_device_with_images():
    try:
        device = open_device("opencl")
    except DeviceError as error:
        pytest.skip(str(error))
    why = device.why_unlike(find_target("opencl/pocl"))
    if why is not None:
        pytest.skip(why)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_any_legal_opts_keep_the_result_of_kernels_with_images(examples):
    read, written = [], []

    @seed(20261202)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def keeps_the_result(data):
        ast = images(data.draw)
        opts = data.draw(schedules(ast, find_target("opencl/pocl"), fewest=1))
        question = Question(print_node(ast), format_opts(opts), ("opencl/pocl",))
        answer = examine(msgspec.msgpack.encode(question))
        failure = msgspec.msgpack.decode(answer, type=Examined).failure
        assert failure is None, f"{failure}\n{question.opts}\n{question.ast}"
        held = [node for node in toposort(ast) if node.op is Op.IMAGE]
        outputs = [store.src[0] for store in ast.src]
        read.append(any(node not in outputs for node in held))
        written.append(any(node in outputs for node in held))

    keeps_the_result()
    said = f"{len(read)} kernels, {sum(read)} read images, {sum(written)} write one"
    sys.stdout.write(said + "\n")
    assert sum(read) >= examples // 12, said
    assert sum(written) >= examples // 12, said
