"""The reference as a device."""

import subprocess
import sys

import numpy as np
import pytest
from asts import elementwise, matmul

from compiler.backends import open_device
from compiler.backends.base import Program
from compiler.backends.reference import evaluate
from compiler.compile import compile_kernel
from compiler.errors import BuildError, DeviceError
from compiler.ir import FLOAT32, INT32, Op, print_node
from compiler.target import REFERENCE


def test_a_program_is_the_text_of_its_ast():
    ast = matmul(2, 3, 4, FLOAT32)
    compiled = compile_kernel(ast, REFERENCE)
    assert compiled.program.source == print_node(ast)
    assert compiled.stages == ()


def test_a_program_runs_on_buffers_of_the_device():
    ast, device = matmul(2, 3, 4, FLOAT32), open_device("reference")
    program = compile_kernel(ast, REFERENCE).program
    a, b = np.arange(8, dtype=np.float32), np.arange(12, dtype=np.float32)
    buffers = [device.allocate(argument.dtype, argument.size) for argument in program.arguments]
    device.upload(buffers[1], a)
    device.upload(buffers[2], b)
    device.build(program)(buffers)
    assert device.download(buffers[0]).tolist() == evaluate(ast, {1: a, 2: b})[0].tolist()


def test_a_view_shares_the_memory_of_its_buffer():
    device = open_device("reference")
    whole = device.allocate(INT32, 6)
    device.upload(device.view(whole, 2, 3), np.int32([7, 8, 9]))
    assert device.download(whole).tolist() == [0, 0, 7, 8, 9, 0]


def test_wrap_writes_into_the_callers_array():
    device = open_device("reference")
    program = compile_kernel(elementwise(Op.NEG, INT32, INT32, 3, 1), REFERENCE).program
    out, x = np.zeros(3, np.int32), np.int32([1, 2, 3])
    device.build(program)([device.wrap(out, INT32), device.wrap(x, INT32)])
    assert out.tolist() == [-1, -2, -3]


def test_text_that_is_no_ast_is_a_build_error():
    program = compile_kernel(elementwise(Op.NEG, INT32, INT32, 3, 1), REFERENCE).program
    broken = Program(program.name, "ir 1\nnonsense\n", REFERENCE, program.arguments, program.launch)
    with pytest.raises(BuildError, match="line 2"):
        open_device("reference").build(broken)


def test_buffers_that_do_not_fit_are_refused():
    device = open_device("reference")
    program = compile_kernel(elementwise(Op.NEG, INT32, INT32, 3, 1), REFERENCE).program
    with pytest.raises(DeviceError, match="2 int32, expected 3"):
        device.build(program)([device.allocate(INT32, 2), device.allocate(INT32, 3)])


def test_the_evaluator_imports_nothing_that_compiles():
    """The reference must not change with rules, passes or the other backends."""
    script = (
        "import sys, importlib.util, types\n"
        "for name in ('compiler.backends', 'compiler.backends.reference'):\n"
        "    package = types.ModuleType(name)\n"
        "    package.__path__ = [importlib.util.find_spec('compiler').submodule_search_locations[0]"
        " + name.removeprefix('compiler').replace('.', '/')]\n"
        "    sys.modules[name] = package\n"
        "import compiler.backends.reference.evaluation\n"
        "allowed = ('compiler.ir', 'compiler.errors', 'compiler.backends.reference')\n"
        "print([n for n in sorted(sys.modules) if n.startswith('compiler.')"
        " and not n.startswith(allowed) and n != 'compiler.backends'])\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
