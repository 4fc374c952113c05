"""Stores past the caches: only where whole aligned lines of a large result are written."""

import re

import numpy as np
import pytest

from compiler import compile_kernel, open_device, parse_node
from compiler.backends.llvm.streams import FENCE, LINE_BYTES, MARK
from compiler.kernel import parse_opts
from compiler.target import LLVM, find_target

LARGE = LLVM.capabilities.streamed_bytes // 4  # float32 elements
FROM_ONE = f"[({LARGE}):(1)+1]"


def negated(size=LARGE, view=None, out=None):
    """The AST of out = -in, of `size` elements."""
    view = view or f"[({size}):(1)]"
    return parse_node(
        "ir 1\n"
        f"%0 = BUFFER float32 slot=0 size={out or size}\n"
        f"%1 = BUFFER float32 slot=1 size={size}\n"
        f"%2 = LOAD float32 %1 view=[({size}):(1)]\n"
        "%3 = NEG float32 %2\n"
        f"%4 = STORE void %0 %3 view={view}\n"
        f"%5 = SINK void %4 axes=(g0:{size})\n"
    )


def program(ast, opts="UPCAST g0 16", target=LLVM):
    return compile_kernel(ast, target, opts=parse_opts(opts)).program


def test_whole_lines_of_a_large_result_pass_the_caches():
    source = program(negated()).source
    (store,) = re.findall(r"store <16 x float>.*", source)
    assert store.endswith(f"align {LINE_BYTES}, {MARK}")
    assert f"{FENCE}\n  ret void" in source


@pytest.mark.parametrize(
    ("ast", "opts"),
    [
        (negated(LARGE // 2), "UPCAST g0 16"),
        (negated(), "UPCAST g0 8"),
        (negated(), ""),
        (negated(view=FROM_ONE, out=LARGE + 1), "UPCAST g0 16"),
    ],
    ids=["small", "half a line", "one by one", "across lines"],
)
def test_other_results_stay_in_the_caches(ast, opts):
    source = program(ast, opts).source
    assert "nontemporal" not in source
    assert FENCE not in source


def test_a_target_without_such_stores_has_none():
    source = program(negated(), "UPCAST g0 128", find_target("llvm/dsp")).source
    assert "nontemporal" not in source


@pytest.mark.parametrize("how", ["call", "bind", "launcher"])
@pytest.mark.parametrize("shift", [0, 1, 16])
def test_a_result_may_begin_anywhere(how, shift):
    device = open_device("llvm")
    executable = device.build(program(negated()))
    whole = device.allocate(executable.program.arguments[0].dtype, LARGE + 32)
    device.upload(whole, np.full(LARGE + 32, 7, np.float32))
    given = device.allocate(whole.dtype, LARGE)
    device.upload(given, np.arange(LARGE, dtype=np.float32))
    buffers = [device.view(whole, shift, LARGE), given]
    if how == "call":
        executable(buffers)
    elif how == "bind":
        executable.bind(buffers)()
    else:
        executable.launcher()(buffers)
    found = device.download(whole)
    assert np.array_equal(found[shift : shift + LARGE], -np.arange(LARGE, dtype=np.float32))
    assert (found[:shift] == 7).all()
    assert (found[shift + LARGE :] == 7).all()
