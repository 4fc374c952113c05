"""Which rule is proven by z3 and which is held by a property test. A new rule: a line in one."""

PROVEN = (
    "add-zero", "add-constants", "like-terms", "constant-outward", "constant-last", "sub-is-add",
    "mul-one", "mul-constants", "ordered-extremes",
    "divmod-by-one", "divmod-within-one-multiple", "divmod-split-multiples",
    "divmod-common-factor", "divmod-nested",
    "compare-decided-by-bounds", "compare-bool-constant", "compare-le-constant",
    "compare-move-constants",
    "where-decided", "where-not", "where-same-condition", "bit-constants", "repeated-operand",
    "shift-by-zero", "double-negation", "cast-to-same", "cast-of-cast",
)  # fmt: skip  # over integers and bools; of -(-x) and casts the float cases are tested in passes/

_SEMANTICS = "passes/test_semantics.py::"
_FOLDING = "rules/test_rules_preserve_values.py::"
_INTEGERS = f"{_FOLDING}test_folding_an_integer_expression_keeps_its_value"
_STAGES = "passes/test_pipeline.py::test_every_stage_computes_what_the_ast_says"

TESTED = {  # rule -> its property test, below tests/
    "fold-constants": _INTEGERS,
    "divide-by-one": f"{_SEMANTICS}test_binary_float_ops_keep_every_bit",
    "lane-of-vector": _STAGES,
    "stack-of-equal": _STAGES,
}
