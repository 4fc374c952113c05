"""Models with graphs inside nodes, functions and sequences."""

import numpy as np
import pytest
from onnx import parser

from compiler.errors import ModelError
from compiler.frontend.launches import counting_launches
from compiler.frontend.onnx import Backend, from_proto, run, run_any

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def model(text, opset=21):
    return from_proto(parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]>\n{text}'))


PROGRAMS = {
    "sequences": """g (float[2,3] x) => (float[2,4] y) {
        one = Constant <value = int64 {1}> ()
        columns = SplitToSequence <axis = 1> (x)
        longer = SequenceInsert (columns, x)
        fewer = SequenceErase (longer, one)
        last = SequenceAt (fewer, one)
        again = SequenceConstruct (last, x)
        joined = ConcatFromSequence <axis = 1> (again)
        count = SequenceLength (longer)
        number = Cast <to = 1> (count)
        y = Add (joined, number)
    }""",
    "a pool of everything": """g (float[2,3] x) => (float[2,1,1] y) {
        axis = Constant <value = int64[1] {1}> ()
        wide = Unsqueeze (x, axis)
        y = GlobalLpPool <p = 3> (wide)
    }""",
    "a branch that sees names around it": """g (float[2,3] x, bool c) => (float[2,3] y) {
        y = If (c) <
            then_branch = t () => (float[2,3] a) { a = Exp (x) },
            else_branch = e () => (float[2,3] b) { b = Neg (x) }
        >
    }""",
    "a loop that stops by its condition": """g (float[2,3] x) => (float[2,3] y, float[K] s) {
        most = Constant <value = int64 {50}> ()
        go = Constant <value = bool {1}> ()
        y, s = Loop (most, go, x) <
            body = b (int64 i, bool c, float[2,3] v) => (bool o, float[2,3] w, float t) {
            two = Constant <value = float {2.0}> ()
            limit = Constant <value = float {100.0}> ()
            w = Mul (v, two)
            t = ReduceMax <keepdims = 0> (w)
            o = Less (t, limit)
        }
        >
    }""",
    "a loop of three rounds": """g (float[2,3] x) => (float[2,3] y, int64[K] s) {
        most = Constant <value = int64 {3}> ()
        y, s = Loop (most, , x) <
            body = b (int64 i, bool c, float[2,3] v) => (bool o, float[2,3] w, int64 t) {
            w = Add (v, v)
            t = Add (i, i)
            o = Identity (c)
        }>
    }""",
    "a scan backwards over columns": """g (float[2,3] x) => (float[2] y, float[2,3] s) {
        zero = Constant <value = float[2] {0.0, 0.0}> ()
        y, s = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1],
                     scan_output_axes = [1], scan_output_directions = [1],
                     body = b (float[2] v, float[2] e) => (float[2] w, float[2] t) {
            w = Add (v, e)
            t = Identity (w)
        }> (zero, x)
    }""",
    "an optional": """g (float[2,3] x) => (float[2,3] y) {
        some = Optional (x)
        has = OptionalHasElement (some)
        inner = OptionalGetElement (some)
        number = Cast <to = 1> (has)
        y = Add (inner, number)
    }""",
}  # fmt: skip


def wanted(name, x):
    """The outputs of a program, by NumPy."""
    match name:
        case "sequences":
            return [np.concatenate([x[:, 2:], x], 1) + 4]
        case "a loop that stops by its condition":
            maxima = [5 * 2.0**i for i in range(1, 6)]
            return [x * 32, np.float32(maxima)]
        case "a loop of three rounds":
            return [x * 8, np.array([0, 2, 4])]
        case "a scan backwards over columns":
            sums = np.cumsum(x[:, ::-1], 1)
            return [sums[:, -1], sums[:, ::-1]]
        case "an optional":
            return [x + 1]
        case _:
            return [np.cbrt((np.abs(x) ** 3).sum(1)).reshape(2, 1, 1)]


@pytest.mark.parametrize("name", [name for name in PROGRAMS if "branch" not in name])
def test_a_graph_gives_what_numpy_gives(name):
    found = run(model(PROGRAMS[name]), {"x": X}, "reference").values()
    for mine, theirs in zip(found, wanted(name, X), strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


@pytest.mark.parametrize(("condition", "expected"), [(True, np.exp(X)), (False, -X)])
def test_a_branch_sees_the_names_around_it(condition, expected):
    program = model(PROGRAMS["a branch that sees names around it"])
    found = run(program, {"x": X, "c": np.array(condition)}, "reference")["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


NO_ROUNDS = """g (float[2,3] x) => (float[2,3] y) {
    none = Constant <value = int64 {0}> ()
    y, s = Loop (none, , x) <body = b (int64 i, bool c, float[2,3] v) => (bool o, float[2,3] w) {
        w = Neg (v)
        o = Identity (c)
    }>
}"""


def test_a_loop_that_never_runs_keeps_its_state():
    program = model(NO_ROUNDS.replace("y, s = Loop", "y = Loop"))
    assert np.array_equal(run(program, {"x": X}, "reference")["y"], X)


def test_rows_of_a_loop_that_never_runs_have_the_shape_that_its_body_gives_them():
    text = NO_ROUNDS.replace("float[2,3] w)", "float[2,3] w, float[2,3] v)")
    program = model(text.replace("=> (float[2,3] y)", "=> (float[2,3] y, float[0,2,3] s)"))
    assert run(program, {"x": X}, "reference")["s"].shape == (0, 2, 3)


def test_the_functions_of_a_model_take_attributes():
    text = """g (float[2,3] x) => (float[2,3] y) { y = mine.scaled <by = 3.0> (x) }
    <domain: "mine", opset_import: ["" : 21]>
    scaled <by> (v) => (w) { factor = Constant <value_float: float = @by> () w = Mul (v, factor) }
    """
    header = '<ir_version: 9, opset_import: ["" : 21, "mine" : 1]>\n'
    program = from_proto(parser.parse_model(header + text))
    assert np.array_equal(run(program, {"x": X}, "reference")["y"], X * 3)


def test_what_is_missing_in_a_branch_is_listed():
    text = """g (float[2,3] x, bool c) => (float[2,3] y) {
        y = If (c) <
            then_branch = t () => (float[2,3] a) { a = StringNormalizer (x) },
            else_branch = e () => (float[2,3] b) { b = StringNormalizer (x) }
        >
    }"""
    with pytest.raises(ModelError, match="StringNormalizer x2"):
        run(model(text), {"x": X, "c": np.array(True)}, "reference")


def test_what_is_missing_is_counted_in_loops_scans_and_functions():
    text = """g (float[2,3] x) => (float[2,3] y, float[2,3] z) {
        most = Constant <value = int64 {3}> ()
        y = Loop (most, , x) <
            body = b (int64 i, bool c, float[2,3] v) => (bool o, float[2,3] w) {
            o = Identity (c)
            w = If (c) <
                then_branch = t () => (float[2,3] p) { p = Multinomial (v) },
                else_branch = e () => (float[2,3] q) { q = mine.inner (v) }
            >
        }
        >
        z = Scan <num_scan_inputs = 1, body = r (float[3] v) => (float[3] w) {
            w = MaxRoiPool <pooled_shape = [1, 1]> (v, v)
        }> (x)
    }
    <domain: "mine", opset_import: ["" : 21]>
    inner (v) => (w) { w = Multinomial (v) }
    """
    header = '<ir_version: 9, opset_import: ["" : 21, "mine" : 1]>\n'
    with pytest.raises(ModelError, match=r"^unsupported operators: MaxRoiPool x1, Multinomial x2$"):
        run(from_proto(parser.parse_model(header + text)), {"x": X}, "reference")


@pytest.mark.parametrize("opset", [6, 29])
def test_other_opsets_are_refused_in_one_line(opset):
    with pytest.raises(ModelError) as found:
        model("g (float[2,3] x) => (float[2,3] y) { y = Exp (x) }", opset)
    assert str(found.value).startswith(f"model: has opset {opset}, supported are 7 to 28")
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("opset", [7, 28])
def test_the_first_and_the_last_opset_are_read(opset):
    program = model("g (float[2,3] x) => (float[2,3] y) { y = Exp (x) }", opset)
    np.testing.assert_allclose(run(program, {"x": X}, "reference")["y"], np.exp(X), rtol=1e-6)


def test_an_opset_that_a_function_brings_is_refused_by_the_name_of_the_function():
    text = """<ir_version: 9, opset_import: ["" : 21, "mine" : 1]>
    g (float[2,3] x) => (float[2,3] y) { y = mine.old (x) }
    <domain: "mine", opset_import: ["" : 5]>
    old (v) => (w) { w = Exp (v) }
    """
    with pytest.raises(ModelError, match="function old: has opset 5"):
        from_proto(parser.parse_model(text))


def test_a_model_of_another_domain_alone_needs_no_opset():
    text = """<ir_version: 9, opset_import: ["mine" : 1]>
    g (float[2,3] x) => (float[2,3] y) { y = mine.Unknown (x) }
    """
    with pytest.raises(ModelError, match=r"unsupported operators: mine\.Unknown x1"):
        run(from_proto(parser.parse_model(text)), {"x": X}, "reference")


def test_sequences_go_in_and_out():
    program = model("g (seq(float[N]) s) => (seq(float[N]) r) { r = Identity (s) }")
    rows = list(X)
    (found,) = run_any(program, {"s": rows}, "reference").values()
    assert len(found) == 2
    assert all(np.array_equal(a, b) for a, b in zip(found, rows, strict=True))
    with pytest.raises(ModelError, match="use run_any"):
        run(program, {"s": rows}, "reference")
    with pytest.raises(ModelError, match="input s: is a sequence"):
        run_any(program, {"s": X}, "reference")


def test_launches_are_counted_and_constants_launch_none():
    with counting_launches() as launches:
        run(model("g (float[2,3] x) => (int64[2] y) { y = Shape (x) }"), {"x": X}, "reference")
        assert launches.count == 0
        run(model("g (float[2,3] x) => (float[2,3] y) { y = Neg (x) }"), {"x": X}, "reference")
    assert launches.count == 1


def test_the_backend_interface_takes_inputs_in_order():
    proto = parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 21]>\n'
        "g (float[3] a, float[3] b) => (float[3] y) { y = Sub (a, b) }"
    )
    (found,) = Backend.prepare(proto, "reference").run([X[1], X[0]])
    assert np.array_equal(found, X[1] - X[0])
    assert Backend.supports_device("CPU")
    assert not Backend.supports_device("CUDA")


BRANCHES = """g (float[2,3] x, {kind} c) => (float[A,3] y) {{
    y = If (c) <
        then_branch = t () => (float[2,3] a) {{ a = Exp (x) }},
        else_branch = e () => (float[1,3] b) {{ b = Slice (x, zero, one) }}
    >
}}"""


def branches(kind):
    text = BRANCHES.format(kind=kind).replace(
        "y = If",
        "zero = Constant <value = int64[1] {0}> () one = Constant <value = int64[1] {1}> () y = If",
    )
    return model(text)


@pytest.mark.parametrize(("condition", "rows"), [(True, 2), (False, 1)])
def test_branches_may_differ_in_shape(condition, rows):
    found = run(branches("bool[1]"), {"x": X, "c": np.array([condition])}, "reference")["y"]
    assert found.shape == (rows, 3)


def test_a_condition_is_one_bool():
    with pytest.raises(ModelError, match=r"If \(makes y\): input 0 has 2 elements, expected one"):
        run(branches("bool[2]"), {"x": X, "c": np.array([True, False])}, "reference")
    with pytest.raises(TypeError, match=r"If \(makes y\): input 0 is float32, which it does not"):
        run(branches("float"), {"x": X, "c": np.float32(1)}, "reference")


def test_rounds_are_as_many_as_an_input_says_and_state_may_grow():
    text = """g (float[2,3] x, int64 n) => (float[A,3] y) {
        y = Loop (n, , x) <
            body = b (int64 i, bool c, float[R,3] v) => (bool o, float[S,3] w) {
            odd = Cast <to = 9> (i)
            o = Identity (c)
            w = If (odd) <
                then_branch = t () => (float[S,3] p) { p = Concat <axis = 0> (v, x) },
                else_branch = e () => (float[S,3] q) { q = Neg (v) }
            >
        }>
    }"""
    program = model(text)
    for n, wanted in ((0, X), (1, -X), (2, np.concatenate([-X, X])), (-1, X)):
        found = run(program, {"x": X, "n": np.array(n)}, "reference")["y"]
        assert np.array_equal(found, wanted)


def test_the_graph_of_a_loop_takes_what_the_loop_carries():
    text = """g (float[2,3] x, int64 n) => (float[2,3] y) {
        y = Loop (n, , x) <body = b (int64 i, bool c) => (bool o) { o = Identity (c) }>
    }"""
    with pytest.raises(ModelError, match="its graph takes 2 inputs, is given 3"):
        run(model(text), {"x": X, "n": np.array(1)}, "reference")


def test_scanned_inputs_have_as_many_rows():
    text = """g (float[2,3] x, float[4] u) => (float[A,3] y) {
        y = Scan <num_scan_inputs = 2, body = b (float[3] e, float f) => (float[3] t) {
            t = Mul (e, f)
        }> (x, u)
    }"""
    with pytest.raises(ModelError, match=r"scans inputs of \[2, 4\] rows"):
        run(model(text), {"x": X, "u": np.ones(4, np.float32)}, "reference")
