"""Which rule is proven by z3 and which is held by a property test. A new rule: a line in one."""

PROVEN = (
    "add-zero", "add-constants", "like-terms", "constant-outward", "constant-last", "sub-is-add",
    "mul-one", "mul-constants", "ordered-extremes",
    "divmod-by-one", "divmod-within-one-multiple", "divmod-split-multiples",
    "divmod-common-factor", "divmod-nested",
    "compare-decided-by-bounds", "compare-bool-constant", "compare-le-constant",
    "compare-move-constants",
)  # fmt: skip

_SEMANTICS = "passes/test_semantics.py::"
_FOLDING = "rules/test_rules_preserve_values.py::"
_INTEGERS = f"{_FOLDING}test_folding_an_integer_expression_keeps_its_value"
_STAGES = "passes/test_pipeline.py::test_every_stage_computes_what_the_ast_says"

TESTED = {  # rule -> its property test, below tests/
    "fold-constants": _INTEGERS,
    "divide-by-one": f"{_SEMANTICS}test_binary_float_ops_keep_every_bit",
    "double-negation": f"{_SEMANTICS}test_unary_float_ops_keep_every_bit",
    "where-decided": _INTEGERS,
    "where-not": _STAGES,
    "where-same-condition": _INTEGERS,
    "bit-constants": _INTEGERS,
    "repeated-operand": _INTEGERS,
    "shift-by-zero": f"{_SEMANTICS}test_binary_integer_ops_are_defined_everywhere",
    "cast-to-same": f"{_SEMANTICS}test_casts_saturate_wrap_and_round_once",
    "cast-of-cast": f"{_SEMANTICS}test_casts_saturate_wrap_and_round_once",
    "lane-of-vector": _STAGES,
    "stack-of-equal": _STAGES,
}
