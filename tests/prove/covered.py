"""Which rules are proven by z3: over integers, over floats, or both. A new rule: its name here."""

PROVEN = (
    "add-zero", "add-constants", "like-terms", "constant-outward", "constant-last", "sub-is-add",
    "mul-one", "mul-constants", "ordered-extremes",
    "divmod-by-one", "divmod-within-one-multiple", "divmod-split-multiples",
    "divmod-common-factor", "divmod-nested",
    "compare-decided-by-bounds", "compare-bool-constant", "compare-le-constant",
    "compare-move-constants",
    "where-decided", "where-not", "where-same-condition", "bit-constants", "repeated-operand",
    "shift-by-zero", "double-negation", "cast-to-same", "cast-of-cast",
    "lane-of-vector", "shuffle-of-vector", "stack-of-equal", "fold-constants",
)  # fmt: skip  # over integers and bools
FLOATS = (
    "add-zero", "mul-one", "divide-by-one", "double-negation", "constant-last", "fold-constants",
    "sub-is-add", "where-decided", "where-not", "where-same-condition",
)  # fmt: skip

TESTED = {  # what a proof asks of some numbers, a property test asks of many; both below tests/
    "fold-constants": (
        "rules/test_rules_preserve_values.py::test_folding_an_integer_expression_keeps_its_value"
    ),
    "lane-of-vector": "passes/test_pipeline.py::test_every_stage_computes_what_the_ast_says",
    "shuffle-of-vector": "passes/test_pipeline.py::test_every_stage_computes_what_the_ast_says",
    "stack-of-equal": "passes/test_pipeline.py::test_every_stage_computes_what_the_ast_says",
}
