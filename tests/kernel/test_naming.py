"""Names of kernels."""

import os
import re
import subprocess
import sys

from compiler.kernel import apply_all, kernel_name, parse_opts
from compiler.target import OPENCL


def test_the_name_starts_with_the_kind_of_kernel(kernel_of):  # row 71
    kinds = [kernel_name(kernel_of(name))[0] for name in ("row_sum", "transpose", "symbolic")]
    assert kinds == ["r", "C", "E"]


def test_the_number_of_outputs_follows_the_kind(kernel_of):  # row 71
    kernel = kernel_of("""
%0 = BUFFER float32 slot=0 size=4
%1 = BUFFER float32 slot=2 size=4
%2 = LOAD float32 %1 view=[(4):(1)]
%3 = STORE void %0 %2 view=[(4):(1)]
%4 = BUFFER float32 slot=1 size=4
%5 = STORE void %4 %2 view=[(4):(1)]
%6 = SINK void %3 %5 axes=(g0:4)
""")
    assert kernel_name(kernel).startswith("C2_4_")


def test_the_name_has_the_sizes_of_the_loops(kernel_of):  # row 72
    kernel = apply_all(kernel_of("matmul"), parse_opts("UPCAST g1 4; LOCAL g0 2"), OPENCL)
    assert kernel_name(kernel).startswith("r_4_3_2_16_4_")


def test_a_symbolic_size_is_named_by_its_variables(kernel_of):  # row 72
    assert kernel_name(kernel_of("symbolic")).startswith("E_n_8_")


def test_two_kernels_of_one_shape_have_two_names(kernel_of):  # row 73
    names = {kernel_name(kernel_of(name)) for name in ("row_sum", "row_max")}
    assert len(names) == 2


def test_other_opts_make_another_name(kernel_of):  # row 73
    kernel = kernel_of("matmul")
    texts = ("", "UPCAST g0 4", "UPCAST g0 2", "NOLOCALS", "SWAP g0 g1")
    assert len({kernel_name(apply_all(kernel, parse_opts(text), OPENCL)) for text in texts}) == 5


def test_the_name_does_not_depend_on_what_was_compiled_before(kernel_of):  # row 73
    first = kernel_name(kernel_of("row_sum"))
    kernel_name(kernel_of("matmul"))
    assert kernel_name(kernel_of("row_sum")) == first


PRINT_NAME = """
from compiler.ir import parse_node
from compiler.kernel import choose, from_ast, apply_all, kernel_name, format_opts
from compiler.options import DEFAULT
from compiler.target import LLVM, OPENCL
import sys
kernel = from_ast(parse_node(sys.argv[1]))
for target in (LLVM, OPENCL):
    opts = choose(kernel, target, DEFAULT)
    print(kernel_name(apply_all(kernel, opts, target)), format_opts(opts))
"""


def test_name_and_choice_do_not_depend_on_the_hash_seed(ast_text_of):  # row 73
    printed = set()
    for seed in ("0", "1", "2"):
        command = [sys.executable, "-c", PRINT_NAME, ast_text_of("matmul")]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        printed.add(done.stdout)
    assert len(printed) == 1


def test_the_name_is_a_c_identifier(kernel_of):  # row 74
    for name in ("row_sum", "transpose", "symbolic", "matmul"):
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", kernel_name(kernel_of(name)))


def test_a_kernel_without_axes_has_a_name(kernel_of):
    kernel = kernel_of("""
%0 = BUFFER float32 slot=0 size=1
%1 = CONST float32 value=0x1.0000000000000p+0 view=none
%2 = STORE void %0 %1 view=[():()]
%3 = SINK void %2 axes=()
""")
    assert re.fullmatch(r"C_[0-9a-f]{12}", kernel_name(kernel))


def test_a_long_shape_is_cut_off(kernel_of):
    sizes = ",".join(["2"] * 40)
    strides = ",".join([str(3**k) for k in range(40)])
    axes = ",".join([f"g{k}:2" for k in range(40)])
    kernel = kernel_of(f"""
%0 = BUFFER float32 slot=0 size=4
%1 = CONST float32 value=0x1.0000000000000p+0 view=none
%2 = STORE void %0 %1 view=[({sizes}):({strides})]
%3 = SINK void %2 axes=({axes})
""")
    assert len(kernel_name(kernel)) <= 64
