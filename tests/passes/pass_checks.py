"""Kernels, and the check that every stage of one computes what its AST says."""

import numpy as np

from compiler import compile_kernel
from compiler.backends.reference import evaluate
from compiler.ir import Op, Spec, parse_node, toposort, verify
from compiler.kernel import apply_all, from_ast, parse_opts, to_nodes
from compiler.options import DEFAULT
from compiler.passes import PIPELINE, Context, run_pipeline
from compiler.rules import Builder

ROW_SUM = """
%0 = BUFFER float32 slot=0 size=12
%1 = BUFFER float32 slot=1 size=288
%2 = LOAD float32 %1 view=[(12,24):(24,1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(12,24):(1,0)]
%5 = SINK void %4 axes=(g0:12,r0:24)
"""
ROW_MAX = ROW_SUM.replace("op=ADD", "op=MAX")
COLUMN_SUM = ROW_SUM.replace("(24,1)", "(1,12)")
TRANSPOSE = """
%0 = BUFFER float32 slot=0 size=48
%1 = BUFFER float32 slot=1 size=48
%2 = LOAD float32 %1 view=[(6,8):(1,6)]
%3 = STORE void %0 %2 view=[(6,8):(8,1)]
%4 = SINK void %3 axes=(g0:6,g1:8)
"""
MATMUL = """
%0 = BUFFER float32 slot=0 size=96
%1 = BUFFER float32 slot=1 size=128
%2 = LOAD float32 %1 view=[(8,12,16):(16,0,1)]
%3 = BUFFER float32 slot=2 size=192
%4 = LOAD float32 %3 view=[(8,12,16):(0,1,12)]
%5 = MUL float32 %2 %4
%6 = REDUCE float32 %5 op=ADD axes=(r0)
%7 = STORE void %0 %6 view=[(8,12,16):(12,1,0)]
%8 = SINK void %7 axes=(g0:8,g1:12,r0:16)
"""
VARIANCE = """
%0 = BUFFER float32 slot=0 size=12
%1 = BUFFER float32 slot=1 size=96
%2 = LOAD float32 %1 view=[(12,8,8):(8,0,1)]
%3 = LOAD float32 %1 view=[(12,8,8):(8,1,0)]
%4 = REDUCE float32 %3 op=MAX axes=(r0)
%5 = SUB float32 %2 %4
%6 = MUL float32 %5 %5
%7 = REDUCE float32 %6 op=ADD axes=(r1)
%8 = STORE void %0 %7 view=[(12,8,8):(1,0,0)]
%9 = SINK void %8 axes=(g0:12,r0:8,r1:8)
"""
TWO_SUMS = """
%0 = BUFFER float32 slot=0 size=4
%1 = BUFFER float32 slot=1 size=32
%2 = LOAD float32 %1 view=[(4,8):(8,1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = MUL float32 %2 %2
%5 = REDUCE float32 %4 op=ADD axes=(r0)
%6 = ADD float32 %3 %5
%7 = STORE void %0 %6 view=[(4,8):(1,0)]
%8 = SINK void %7 axes=(g0:4,r0:8)
"""
NESTED = """
%0 = BUFFER float32 slot=0 size=6
%1 = BUFFER float32 slot=1 size=192
%2 = LOAD float32 %1 view=[(6,8,4):(32,4,1)]
%3 = REDUCE float32 %2 op=MAX axes=(r1)
%4 = REDUCE float32 %3 op=ADD axes=(r0)
%5 = STORE void %0 %4 view=[(6,8,4):(1,0,0)]
%6 = SINK void %5 axes=(g0:6,r0:8,r1:4)
"""
PADDED_POOL = """
%0 = BUFFER float32 slot=0 size=100
%1 = BUFFER float32 slot=1 size=64
%2 = LOAD float32 %1 view=[(10,10,3):(8,1,1)+-9?(1:9,1:7,0:3)]
%3 = REDUCE float32 %2 op=MAX axes=(r0)
%4 = STORE void %0 %3 view=[(10,10,3):(10,1,0)]
%5 = SINK void %4 axes=(g0:10,g1:10,r0:3)
"""
REVERSED_ROWS = """
%0 = BUFFER float32 slot=0 size=24
%1 = BUFFER float32 slot=1 size=24
%2 = LOAD float32 %1 view=[(24):(1)|(4,6):(-6,1)+18]
%3 = ADD float32 %2 %2
%4 = STORE void %0 %3 view=[(4,6):(6,1)]
%5 = SINK void %4 axes=(g0:4,g1:6)
"""
WITH_INDEX = """
%0 = BUFFER int32 slot=0 size=24
%1 = CONST int32 value=1 view=[(4,6,6):(0,0,0)?(0:4,0:6,0:3)]
%2 = REDUCE int32 %1 op=ADD axes=(r0)
%3 = BUFFER int32 slot=1 size=24
%4 = LOAD int32 %3 view=[(4,6,6):(6,1,0)]
%5 = MUL int32 %2 %4
%6 = STORE void %0 %5 view=[(4,6,6):(6,1,0)]
%7 = SINK void %6 axes=(g0:4,g1:6,r0:6)
"""
ANY = """
%0 = BUFFER bool slot=0 size=12
%1 = BUFFER bool slot=1 size=288
%2 = LOAD bool %1 view=[(12,24):(24,1)]
%3 = NOT bool %2
%4 = REDUCE bool %3 op=OR axes=(r0)
%5 = STORE void %0 %4 view=[(12,24):(1,0)]
%6 = SINK void %5 axes=(g0:12,r0:24)
"""
SYMBOLIC = """
%0 = VAR int64 name=n lo=1 hi=64
%1 = CONST int64 value=8 view=none
%2 = MUL int64 %0 %1
%3 = BUFFER float32 slot=0 size=%2
%4 = BUFFER float32 slot=1 size=%2
%5 = LOAD float32 %4 view=[(%0,8):(8,1)]
%6 = NEG float32 %5
%7 = STORE void %3 %6 view=[(%0,8):(8,1)]
%8 = SINK void %7 axes=(g0:%0,g1:8)
"""
ROWS = """
%0 = BUFFER float32 slot=0 size=96
%1 = BUFFER float32 slot=1 size=96
%2 = LOAD float32 %1 view=[(12,8,8,8):(8,1,0,0)]
%3 = LOAD float32 %1 view=[(12,8,8,8):(8,0,1,0)]
%4 = REDUCE float32 %3 op=MAX axes=(r0)
%5 = SUB float32 %2 %4
%6 = LOAD float32 %1 view=[(12,8,8,8):(8,0,0,1)]
%7 = SUB float32 %6 %4
%8 = REDUCE float32 %7 op=ADD axes=(r1)
%9 = FDIV float32 %5 %8
%10 = STORE void %0 %9 view=[(12,8,8,8):(8,1,0,0)]
%11 = SINK void %10 axes=(g0:12,g1:8,r0:8,r1:8)
"""
TWO_OUTPUTS = """
%0 = BUFFER float32 slot=0 size=24
%1 = BUFFER float32 slot=2 size=24
%2 = LOAD float32 %1 view=[(4,6):(6,1)]
%3 = MUL float32 %2 %2
%4 = STORE void %0 %3 view=[(4,6):(6,1)]
%5 = BUFFER float32 slot=1 size=24
%6 = NEG float32 %3
%7 = STORE void %5 %6 view=[(4,6):(1,4)]
%8 = SINK void %4 %7 axes=(g0:4,g1:6)
"""


def ast(text):
    """The AST of one of the texts above."""
    node = parse_node(f"ir 1{text}")
    verify(node, Spec.KERNEL)
    return node


def nodes(text, opts, target, builder=None):
    """The indexed graph of a kernel under `opts`."""
    kernel = apply_all(from_ast(ast(text)), parse_opts(opts), target)
    builder = Builder() if builder is None else builder
    return to_nodes(kernel, builder, target.capabilities)


def stages(text, opts, target, options=DEFAULT):
    """Every stage by the name of its pass."""
    builder = Builder()
    done = run_pipeline(nodes(text, opts, target, builder), target, options, builder)
    return {stage.name: stage.node for stage in done}


def compiled(text, opts, target, options=DEFAULT):
    """The same of a whole compile."""
    done = compile_kernel(ast(text), target, options, parse_opts(opts)).stages
    return {stage.name: stage.node for stage in done}


def random_inputs(root, variables=None, seed=0):
    """Contents for every buffer, by slot; outputs hold rubbish."""
    rng = np.random.default_rng(seed)
    found = {}
    for node in toposort(root):
        if node.op is not Op.BUFFER:
            continue
        size = node.attr[1] if isinstance(node.attr[1], int) else 64 * 64
        values = rng.standard_normal(size) * 8
        dtype = {"bfloat16": "uint16"}.get(node.dtype.name, node.dtype.name)
        if node.dtype.name == "bool":
            found[node.attr[0]] = values > 0
        elif node.dtype.name == "bfloat16":
            found[node.attr[0]] = (values.astype(np.float32).view(np.uint32) >> 16).astype(dtype)
        else:
            found[node.attr[0]] = values.astype(dtype)
    return found


def stored(root, buffers):
    """The buffers as this stage keeps them: a 16-bit float may be held as its bits."""
    kept = dict(buffers)
    for node in toposort(root):
        if node.op is Op.BUFFER and node.dtype.name == "uint16":
            kept[node.attr[0]] = buffers[node.attr[0]].view(np.uint16)
    return kept


def outputs(root, buffers, variables=None):
    """What a stage writes, by slot, with the dtypes of `buffers`."""
    results = evaluate(root, stored(root, buffers), variables or {})
    return {slot: found.view(buffers[slot].dtype) for slot, found in results.items()}


def assert_stages_compute(text, opts, target, *, options=DEFAULT, variables=None, buffers=None):
    """Every stage computes what the AST does: exactly, or to a few ulp where sums are reordered."""
    root = ast(text)
    buffers = random_inputs(root) if buffers is None else buffers
    expected = outputs(root, buffers, variables)
    for name, node in stages(text, opts, target, options).items():
        found = outputs(node, buffers, variables)
        assert found.keys() == expected.keys(), name
        for slot, wanted in expected.items():
            assert_close(found[slot], wanted, f"slot {slot} after {name}")


def assert_close(found, wanted, what):
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5, err_msg=what)
    else:
        np.testing.assert_array_equal(found, wanted, err_msg=what)


def ops(root):
    """The ops of a graph."""
    return [node.op for node in toposort(root)]


def count(root, op):
    return ops(root).count(op)


def graph(text):
    """A lowered graph, as it stands."""
    return parse_node(f"ir 1{text}")


def through(root, names, target, options=DEFAULT):
    """`root` after these passes, each result verified."""
    context = Context(target, options, Builder())
    for step in PIPELINE:
        if step.name in names:
            root = step.run(root, context)
            verify(root, step.yields, step.name)
    return root


def of_op(root, op):
    """The nodes with this op."""
    return [node for node in toposort(root) if node.op is op]
