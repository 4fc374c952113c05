"""The intermediate representation: dtypes, ops, interned nodes, views, text, bounds and the verifier."""

from compiler.ir.bounds import bounds
from compiler.ir.dtype import (
    BFLOAT16, BOOL, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, SCALARS, UINT8, UINT16, UINT32, UINT64, VOID,
    DType, Kind, parse_dtype, round_to, wrap,
)  # fmt: skip
from compiler.ir.node import (
    Node,
    Size,
    attr_nodes,
    const,
    depends_on,
    intern,
    operands,
    replace_src,
    substitute,
    toposort,
)
from compiler.ir.op import (
    BINARY, COMMUTATIVE, COMPARISONS, ELEMENTWISE, FIELDS, REDUCTIONS, TERNARY, UNARY, AxisKind, Field, Op,
)  # fmt: skip
from compiler.ir.text import parse_node, print_node
from compiler.ir.verify import Spec, free_axes, loop_parts, verify, why_malformed
from compiler.ir.view import Mask, View
from compiler.ir.viewstack import ViewStack

__all__ = [
    "BFLOAT16", "BINARY", "BOOL", "COMMUTATIVE", "COMPARISONS", "ELEMENTWISE", "FIELDS", "FLOAT16", "FLOAT32",
    "FLOAT64", "INT8", "INT16", "INT32", "INT64", "REDUCTIONS", "SCALARS", "TERNARY", "UINT8", "UINT16", "UINT32",
    "UINT64", "UNARY", "VOID", "AxisKind", "DType", "Field", "Kind", "Mask", "Node", "Op", "Size", "Spec", "View",
    "ViewStack", "attr_nodes", "bounds", "const", "depends_on", "free_axes", "intern", "loop_parts", "operands",
    "parse_dtype", "parse_node", "print_node", "replace_src", "round_to", "substitute", "toposort", "verify",
    "why_malformed", "wrap",
]  # fmt: skip
