"""Found by `replay fuzz`: PADTO, then UPCAST of that axis, left stores whose gate is never true.

Two such lanes could be the same instruction, and the program held it twice. Their kind: every store
of a lane that lies wholly in padding goes away, whatever the axis and the amount.
"""

import pytest

from compiler import compile_kernel, find_target, parse_node
from compiler.ir import Op
from compiler.kernel import parse_opts

ROWS = """ir 1
%0 = BUFFER float32 slot=0 size=10
%1 = CONST float32 value=0x0.0p+0 view=none
%2 = STORE void %0 %1 view=[(2,5):(5,1)]
%3 = SINK void %2 axes=(g0:2,g1:5)
"""


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize(
    "opts",
    [
        "PADTO g0 8; UPCAST g0 8",
        "PADTO g0 16; UPCAST g0 16",
        "PADTO g0 8; UPCAST g0 2; UPCAST g0.o 2",
    ],
)
def test_no_store_of_a_lane_in_padding_is_left(backend, opts):
    compiled = compile_kernel(parse_node(ROWS), find_target(backend), opts=parse_opts(opts))
    program = compiled.stages[-1].node
    gates = [node.src[0] for node in program.src if node.op is Op.IF]
    assert not [gate for gate in gates if gate.is_const]
    assert len(set(program.src)) == len(program.src)
