import re
import time
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from corpus import open_reader
from replay.compare.normalize import LANGUAGES, is_renamed
from replay.compare.spelling import are_one_program

LLVM = """\
define void @k(ptr noalias %out, ptr noalias %a, ptr noalias %b, i64 %lo, i64 %hi) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %lo, %entry ], [ %next, %loop ]
  %pa = getelementptr float, ptr %a, i64 %i
  %pb = getelementptr float, ptr %b, i64 %i
  %va = load float, ptr %pa
  %vb = load float, ptr %pb
  %d = fsub float %va, %vb
  %po = getelementptr float, ptr %out, i64 %i
  store float %d, ptr %po
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %hi
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare float @llvm.fma.f32(float, float, float)
"""

C = """\
__kernel void k(__global float* out, __global const float* restrict a, __global float* b) {
  int g0 = get_global_id(0);
  float acc = 0.0f;
  for (int r0 = 0; r0 < 8; r0++) {
    float va = a[g0 * 8 + r0];
    float vb = b[r0];
    float d = va - vb;
    acc = acc + d;
  }
  out[g0] = acc;
}
"""

EQUAL = {
    "llvm": {
        "a value has another name": [("%d ", "%diff "), ("float %d,", "float %diff,")],
        "a label has another name": [("loop", "body")],
        "the kernel has another name": [("@k", "@kernel")],
        "a parameter has another name": [("noalias %a,", "noalias %x,"), ("ptr %a,", "ptr %x,")],
        "independent loads are exchanged": [
            (
                "  %va = load float, ptr %pa\n  %vb = load float, ptr %pb\n",
                "  %vb = load float, ptr %pb\n  %va = load float, ptr %pa\n",
            )
        ],
        "an address is computed later": [
            ("  %pb = getelementptr float, ptr %b, i64 %i\n", ""),
            (
                "  %vb = load",
                "  %pb = getelementptr float, ptr %b, i64 %i\n  %vb = load",
            ),
        ],
    },
    "opencl": {
        "a value has another name": [("float d =", "float diff ="), ("+ d;", "+ diff;")],
        "a variable has another name": [("acc", "sum")],
        "a loop variable has another name": [("r0", "i")],
        "the kernel has another name": [("void k(", "void other(")],
        "independent loads are exchanged": [
            (
                "    float va = a[g0 * 8 + r0];\n    float vb = b[r0];\n",
                "    float vb = b[r0];\n    float va = a[g0 * 8 + r0];\n",
            )
        ],
    },
}

DIFFERENT = {
    "llvm": {
        "operands are swapped": [("fsub float %va, %vb", "fsub float %vb, %va")],
        "buffers are exchanged": [
            ("ptr %a, i64", "ptr %t, i64"),
            ("ptr %b, i64", "ptr %a, i64"),
            ("ptr %t, i64", "ptr %b, i64"),
        ],
        "another operation": [("fsub", "fadd")],
        "another intrinsic": [("@llvm.fma.f32", "@llvm.fmuladd.f32")],
        "another constant": [("add i64 %i, 1", "add i64 %i, 2")],
        "a branch goes elsewhere": [("label %loop, label %done", "label %done, label %loop")],
        "a load moves behind a store": [
            ("  %vb = load float, ptr %pb\n", ""),
            ("  %d = fsub float %va, %vb\n", "  %d = fsub float %va, %va\n"),
            ("ptr %po\n", "ptr %po\n  %vb = load float, ptr %pb\n"),
        ],
        "a store is lost": [("  store float %d, ptr %po\n", "")],
        "a value is computed twice": [("  %d =", "  %e = fsub float %va, %vb\n  %d =")],
        "a phi takes other values": [
            ("[ %lo, %entry ], [ %next, %loop ]", "[ %next, %entry ], [ %lo, %loop ]"),
        ],
        "other spacing": [("fsub float %va, %vb", "fsub float  %va, %vb")],
    },
    "opencl": {
        "operands are swapped": [("va - vb", "vb - va")],
        "buffers are exchanged": [
            ("a[g0 * 8 + r0]", "b[g0 * 8 + r0]"),
            ("vb = b[r0]", "vb = a[r0]"),
        ],
        "another operation": [("va - vb", "va + vb")],
        "another function": [("get_global_id(0)", "get_local_id(0)")],
        "another dimension": [("get_global_id(0)", "get_global_id(1)")],
        "a store is lost": [("  out[g0] = acc;\n", "")],
        "a store moves into the loop": [("  }\n  out[g0] = acc;\n", "  out[g0] = acc;\n  }\n")],
        "the sum is read before it is complete": [
            ("  for", "  float early = acc;\n  for"),
            ("out[g0] = acc", "out[g0] = early"),
        ],
        "a loop is shorter": [("r0 < 8", "r0 < 7")],
        "another type": [("float acc", "double acc")],
    },
}  # fmt: skip

SOURCES = {"llvm": LLVM, "opencl": C}


def changed(source, replacements):
    for before, after in replacements:
        assert before in source
        source = source.replace(before, after)
    return source


def cases(table):
    return [
        pytest.param(backend, replacements, id=f"{backend}: {what}")
        for backend, changes in table.items()
        for what, replacements in changes.items()
    ]


@pytest.mark.parametrize(("backend", "replacements"), cases(EQUAL))
def test_names_and_the_order_of_independent_statements_do_not_count(backend, replacements):
    source = SOURCES[backend]
    assert is_renamed(source, changed(source, replacements), backend)


@pytest.mark.parametrize(("backend", "replacements"), cases(DIFFERENT))
def test_what_computes_something_else_is_never_renamed(backend, replacements):
    source = SOURCES[backend]
    assert not is_renamed(source, changed(source, replacements), backend)


def test_shadowed_names_are_compared_by_letters():
    shadowed = C.replace("float va =", "float acc =").replace("va - vb", "acc - vb")
    assert not is_renamed(shadowed, shadowed.replace("g0", "id"), "opencl")


def kernel_of(*lines):
    return "\n".join(
        ["__kernel void k(__global float* o) {", *[f"  {line}" for line in lines], "}\n"]
    )


BACKWARDS = """define void @k(ptr %o, ptr %p) {
entry:
  br label %first
last:
  store float %x, ptr %o
  ret void
first:
  %a = load float, ptr %p
  %b = load float, ptr %o
  %x = fsub float %a, %b
  %y = fsub float %b, %a
  br label %last
}
"""
HIDING = kernel_of(
    "for (int i = 0; i < 4; i++) {",
    "for (int n = 0; n < 4; n++) {",
    "for (int i = 0; i < 2; i++) {",
    "}",
    "o[i] = 1.0f;",
    "}",
    "}",
)
TWO_AT_ONCE = kernel_of(
    "float s = 1.0f;",
    "float t = 2.0f;",
    "{",
    "float u = 1.0f, s = o[1];",
    "o[0] = s;",
    "}",
)
UNSURE = {
    "a value is used above its definition": ("llvm", BACKWARDS, ("%x =", "%y =")),
    "two functions say which is which by their names": (
        "llvm",
        LLVM + LLVM.replace("@k", "@other").replace("fsub", "fadd"),
        ("@k(", "@other("),
    ),
    "a loop variable hides another": (
        "opencl",
        HIDING,
        ("(int i = 0; i < 2; i", "(int n = 0; n < 2; n"),
    ),
    "two kernels say which is which by their names": (
        "opencl",
        C + C.replace("void k", "void other").replace("va - vb", "va + vb"),
        ("void k(", "void other("),
    ),
    "a macro means a name": (
        "opencl",
        "#define HERE va\n" + C.replace("acc + d", "acc + HERE"),
        ("float va", "float vb"),
    ),
    "two things are declared at once": ("opencl", TWO_AT_ONCE, (", s =", ", t =")),
}  # fmt: skip


@pytest.mark.parametrize(("backend", "source", "names"), UNSURE.values(), ids=UNSURE)
def test_what_is_not_sure_is_compared_by_letters(backend, source, names):
    """Two names change places where they are defined, and nowhere else."""
    one, other = names
    swapped = source.replace(one, "\0").replace(other, one).replace("\0", other)
    assert swapped != source
    assert not is_renamed(source, swapped, backend)


LATER = {
    "a call is given an address": ["float c = sincos(o[0], &s);"],
    "a call that is not known is given a name": ["float c = change(s);"],
    "another line assigns": ["s = o[1];"],
    "a part is assigned": ["s.x = o[1];"],
    "a condition may leave": ["if (o[1] > 0.0f) return;"],
    "a condition rules the next line": ["if (o[1] > 0.0f)"],
    "it counts": ["s++;"],
}


@pytest.mark.parametrize("lines", LATER.values(), ids=LATER)
@pytest.mark.parametrize("declaration", ["float s = 0.0f;", "float s;"])
def test_a_value_does_not_move_over_what_may_change_it(declaration, lines):
    reading, end = "float d = s - 1.0f;", ["o[0] = d;", "o[1] = c;"]
    before = kernel_of(declaration, *lines, reading, *end)
    after = kernel_of(declaration, reading, *lines, *end)
    assert not is_renamed(before, after, "opencl")


# Each is a kernel, and the same with two lines exchanged or two names swapped in one place.
MOVED = {
    "a value and what leaves": ["float a = 2.0f; return;", "o[0] = 1.0f;"],
    "a value and what breaks": ["float a = 2.0f; break;", "o[0] = 1.0f;"],
    "an assignment in brackets": ["(s) = 2.0f;", "float b = s * 3.0f;", "o[0] = b;"],
    "a count in brackets": ["(s)++;", "float b = s * 3.0f;", "o[0] = b;"],
    "a part after a blank": ["s. x = 2.0f;", "float b = s * 3.0f;", "o[0] = b;"],
    "an assignment over two lines": ["float b = s;", "s // here", "= 2.0f;", "o[0] = b;"],
    "a pointer that is followed": ["float a = *o;", "o[0] = 2.0f;", "o[1] = a;"],
    "an address in brackets": ["vstore2(o[0], 0, (float*)&(s));", "float y = s;", "o[1] = y;"],
    "an address after a cast": ["set((float*) & s);", "float y = s;", "o[1] = y;"],
    "an address of an element": ["set(&s[0]);", "float y = s.x;", "o[1] = y;"],
    "an element by an element": ["s[o[0] + 1] = 3.0f;", "float y = s.y;", "o[1] = y;"],
    "a case": ["case 2: ;", "float y = 2.0f;", "o[1] = y;"],
    "a texture": ["float4 a = t.read(2);", "t.write(s, 2);", "o[0] = a.x;"],
    "a reference": ["thread float& q = s;", "q = 2.0f;", "float y = s;", "o[1] = y;"],
    "two at once": ["float a = 1.0f, b;", "float d = b + 1.0f;", "o[0] = d;"],
    "a word for the sign of an address": ["*(bitand s) = 3.0f;", "float y = s.x;", "o[1] = y;"],
    "a word for an assignment": ["float z = (s.x or_eq 6);", "float y = s.x;", "o[1] = z + y;"],
    "a call of a member": ["float a = q.next();", "float b = q.next();", "o[0] = a - b;"],
    "a quotient and what never returns": ["stop(o);", "int a = 7 / o[0];", "o[1] = a;"],
}


@pytest.mark.parametrize("first", [0, 1, 2])
@pytest.mark.parametrize("backend", ["opencl", "metal"])
@pytest.mark.parametrize("lines", MOVED.values(), ids=MOVED)
def test_a_line_that_our_renderers_do_not_write_moves_nowhere(lines, backend, first):
    body = ["float4 s = 1.0f;", *lines]
    if first + 2 >= len(body):
        return
    moved = [*body]
    moved[first + 1], moved[first + 2] = moved[first + 2], moved[first + 1]
    assert not is_renamed(kernel_of(*body), kernel_of(*moved), backend)


READS, COUNTS = ("o[1]", "o[2]", "o[0] = R;"), ("get_next()", "get_next()", "o[0] = a - b;")
IN_BRACKETS = ("(next)()", "(next)()", "o[0] = a - b;")
ONE_OF_TWO = ("(o[0] ? next : next)()", "(o[0] ? next : next)()", "o[0] = a - b;")
ABOVE = {
    "a macro": ("# define R a", READS),
    "a macro by a digraph": ("%:define R a", READS),
    "a macro over two lines": ("#de\\\nfine R a", READS),
    "a file": ('#include "r.h"', READS),
    "a function that counts": ("int k; float get_next() { return k++; }", COUNTS),
    "one that is called in brackets": ("int k; float next() { return k++; }", IN_BRACKETS),
    "one of two": ("int k; float next() { return k++; }", ONE_OF_TWO),
}


@pytest.mark.parametrize(("above", "body"), ABOVE.values(), ids=ABOVE)
def test_what_stands_above_a_kernel_may_mean_a_name(above, body):
    first, second, end = body
    one, other = [
        f"{above}\n" + kernel_of(f"float {x} = {first};", f"float {y} = {second};", end)
        for x, y in ("ab", "ba")
    ]
    assert not is_renamed(one, other, "opencl")


VALUES = "  %a = fsub float %c, 1.0\n  %b = fadd float %c, 1.0\n"
QUOTED = """define void @k(ptr %o, float %c){attribute} {{
entry:
{values}  store float %{stored}, ptr %o
  ret void
}}
{after}
"""


@pytest.mark.parametrize(
    ("attribute", "values", "after"),
    [
        (' "k"="%{}"', VALUES, ""),
        ("", VALUES, '@s = constant [2 x i8] c"%{}"'),
        ("", VALUES, '!0 = !{{!"%{}"}}'),
        ("", "  %a = fsub float %c,\n  1.0\n  %b = fadd float %c,\n  1.0\n", ""),
        ("", "  %a = freeze float undef\n  %b = freeze float undef\n", ""),
        ("", "  %a = fadd float %c, 1.0 store float %c, ptr %o\n  %b = fneg float %c\n", ""),
        (" byval(%T)", VALUES, ""),
    ],
)
def test_llvm_in_another_form_is_compared_by_letters(attribute, values, after):
    """Names that differ, where there is something that no line of ours holds."""
    one = QUOTED.format(
        attribute=attribute.format("a"), values=values, stored="a", after=after.format("a")
    )
    other = re.sub(r"%[ab]\b", lambda name: {"%a": "%b", "%b": "%a"}[name[0]], one)
    assert one != other
    assert not is_renamed(one, other, "llvm")


def test_a_quotient_does_not_move_over_a_call_that_may_not_return():
    stored = "  store i32 %q, ptr %o\n  ret void\n}\n"
    call, divide = "  call void @g(i32 %n)\n", "  %q = udiv i32 7, %n\n"
    head = "define void @k(ptr %o, i32 %n) {\nentry:\n"
    assert not is_renamed(head + call + divide + stored, head + divide + call + stored, "llvm")


def test_llvm_of_one_moved_line_that_is_renamed_builds_as_well():
    """Wherever the line is moved to: behind the end of its block, over a phi, out of its loop."""
    lines = LLVM.splitlines()
    moves = [(line, place) for line in range(len(lines)) for place in range(len(lines))]
    renamed = 0
    for line, place in moves:
        moved = [*lines[:line], *lines[line + 1 :]]
        moved.insert(place, lines[line])
        source = "\n".join(moved) + "\n"
        if source != LLVM and is_renamed(LLVM, source, "llvm"):
            renamed += 1
            llvm.parse_assembly(source).verify()
    assert renamed > len(lines) / 2


NO_LINE_ENDS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"  # but for Python's splitlines
HIDDEN = {
    "a store": ("llvm", LLVM.replace("  store", "  ; here{}  store")),
    "a letter of a constant": ("llvm", LLVM + '@s = constant [3 x i8] c"a{}b"\n'),
    "a pragma": ("opencl", "// here{}#pragma OPENCL FP_CONTRACT OFF\n" + C),
    "a statement": ("opencl", C.replace("  out[g0]", "  // here{}  out[g0]")),
}


@pytest.mark.parametrize("end", NO_LINE_ENDS)
@pytest.mark.parametrize(("backend", "source"), HIDDEN.values(), ids=HIDDEN)
def test_a_line_ends_for_us_where_it_ends_for_the_compiler(backend, source, end):
    one, other = [source.replace("{}", each) for each in (end, "\n")]
    assert one != other
    assert not is_renamed(one, other, backend)


@pytest.mark.parametrize("remark", ["/* float {}, float {}, */ ", "/* (int {}), (int {}) */ "])
def test_a_comment_declares_no_parameters(remark):
    above = "__constant float K0 = 1.0f;\n__constant float K1 = 2.0f;\n"
    one, other = [
        above
        + kernel_of(f"o[0] = {x} - {y};").replace("(__global", f"({remark.format(x, y)}__global")
        for x, y in (("K0", "K1"), ("K1", "K0"))
    ]
    assert not is_renamed(one, other, "opencl")


def test_every_read_of_volatile_memory_is_its_own():
    one, other = [
        kernel_of(f"float {x} = o[0];", f"float {y} = o[0];", "o[1] = a - b;")
        for x, y in ("ab", "ba")
    ]
    assert is_renamed(one, other, "opencl")
    volatile = [source.replace("(__global", "(volatile __global") for source in (one, other)]
    assert not is_renamed(*volatile, "opencl")


def test_all_that_our_renderers_write_is_understood():
    for path in ("corpus/seeds/seeds.txt", "corpus/seeds/models.txt"):
        with open_reader(path) as reader:
            for item in reader:
                record = item.record
                text = LANGUAGES[record.target.backend](record.source)  # raises where it is unsure
                assert record.name not in text
    for path in Path("tests/backends/gpu_cores").iterdir():
        LANGUAGES["metal" if path.suffix == ".metal" else "opencl"](path.read_text())


def test_loops_one_after_the_other_may_share_a_name():
    loop = ["for (int {0} = 0; {0} < 4; {0}++) {{", "float v = o[{0}];", "o[{0} + 4] = v;", "}}"]
    source = kernel_of(*[line.format("i") for line in (*loop, *loop)])
    assert is_renamed(source, re.sub(r"\bi\b", "n", source), "opencl")


HOSTILE = {
    "qualifiers": ("opencl", "const ", ""),
    "brackets": ("opencl", "a[", ""),
    "blanks": ("opencl", " ", "b"),
    "blank lines": ("opencl", "\n", ""),
    "comments": ("opencl", "/* ", ""),
    "names": ("opencl", "a", ""),
    "pointers": ("opencl", "*const ", ""),
    "counts": ("opencl", "++ ", ""),
    "templates": ("opencl", "a<", ""),
    "loops": ("opencl", "for (int i = 0; i < 3; i++) {\n", ""),
    "functions": ("llvm", "define @a", ""),
    "quoted names": ("llvm", '%"', ""),
}


@pytest.mark.parametrize(("backend", "part", "end"), HOSTILE.values(), ids=HOSTILE)
def test_the_time_for_hostile_text_grows_no_faster_than_it(backend, part, end):
    """Squares of such lengths would take hours."""
    head = {"opencl": kernel_of("float a = 0.0f;")[:-2], "llvm": LLVM[:-80]}[backend]
    source = f"{head}  int x{part * 200_000}{end}\n}}\n"
    begun = time.process_time()
    is_renamed(source, source + "\n", backend)
    are_one_program(source, source + "\n", backend)
    assert time.process_time() - begun < 20


METAL = """kernel void k(device float *data0 [[buffer(0)]], constant int &v_n [[buffer(1)]]) {
  threadgroup float part[16];
  float va = data0[0] - data0[v_n];
  float vb = data0[1];
  data0[2] = va - vb;
}
"""


def test_names_of_metal_may_change_and_operands_may_not():
    for before, after in (("data0", "data9"), ("v_n", "v_m"), ("part", "lds"), ("va", "vc")):
        assert is_renamed(METAL, METAL.replace(before, after), "metal")
    for before, after in (("va - vb", "vb - va"), ("- data0[v_n]", "- data0[2]"), ("16", "8")):
        assert not is_renamed(METAL, METAL.replace(before, after), "metal")


def test_the_time_for_many_values_grows_no_faster_than_they_do():
    """To put all their names together for each of them took the square of the time."""
    source = kernel_of(*[f"float a{number} = o[{number}];" for number in range(100_000)])
    begun = time.process_time()
    assert is_renamed(source, re.sub(r"\ba(?=\d)", "b", source), "opencl")
    assert time.process_time() - begun < 60


def test_an_unknown_language_is_compared_by_letters():
    assert not is_renamed("a", "b", "ptx")
