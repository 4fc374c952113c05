import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from results import artefact, changed, crashed, same

from corpus import Argument, ArgumentKind, Launch, Opt
from replay.compare.cluster import under_one_name, with_clusters
from replay.compare.diff import digest_of, edits, first_stage_that_differs, hunks, judge, unified
from replay.outcome import Facet, Outcome


def test_artefacts_without_a_difference_are_the_same():
    assert judge(artefact(), artefact(rewrites=7), "opencl") == (Outcome.SAME, ())


def test_a_launch_size_alone_is_a_change_of_code():
    other = artefact(launch=Launch((2,), ()))
    assert judge(artefact(), other, "opencl") == (Outcome.CODE, (Facet.LAUNCH,))


KERNEL = """\
__kernel void k(__global float* o, __global float* a, __global float* b, int n, int m) {
  o[n] = a[0] - b[m];
}
"""
LISTED = ("o", "a", "b", "n", "m")


def kernel(name="k", names=LISTED, called=None):
    """The kernel with other names, also outside of its source, where it is `called` so."""
    source = KERNEL.replace(" k(", f" {name}(")
    for place, each in enumerate(names):
        source = re.sub(rf"\b{LISTED[place]}\b", f"new_{each}", source)
    arguments = [
        Argument(each, "float32", 4, ArgumentKind.VAR if place > 2 else ArgumentKind.IN)
        for place, each in enumerate(names)
    ]
    return artefact(source.replace("new_", ""), name=called or name, arguments=tuple(arguments))


def test_a_kernel_and_its_buffers_may_have_other_names():
    assert judge(kernel(), kernel("r_4"), "opencl")[0] is Outcome.RENAMED
    assert judge(kernel(), kernel(names=("o", "x", "y", "n", "m")), "opencl")[0] is Outcome.RENAMED


@pytest.mark.parametrize("names", ["obanm", "aobnm", "oabmn", "oabxm", "oxanm"])
def test_a_name_that_says_what_is_passed_is_more_than_a_name(names):
    """The source is the same but for names, and gets other buffers or sizes."""
    assert judge(kernel(), kernel(names=tuple(names)), "opencl")[0] is Outcome.CODE


def test_a_kernel_that_is_not_in_its_source_is_not_renamed():
    assert judge(kernel(), kernel(called="other"), "opencl") == (Outcome.CODE, (Facet.NAME,))


def test_the_digest_covers_the_launch_but_not_the_name():
    assert digest_of(artefact()) != digest_of(artefact(launch=Launch((2,), ())))
    assert digest_of(artefact()) == digest_of(artefact(name="other"))


def test_hunks_cover_every_line_that_differs():
    old, new = "a\nb\nc\nd\n", "a\nB\nC\nd\ne\n"
    assert [(hunk.old, hunk.new) for hunk in hunks(old, new)] == [
        (("b", "c"), ("B", "C")),
        ((), ("e",)),
    ]


def test_a_unified_diff_shows_both_sides_with_context():
    assert unified("a\nb\nc\n", "a\nB\nc\n") == "@@ line 1 @@\n  a\n- b\n+ B\n  c"


def test_a_long_diff_is_cut_and_says_so():
    text = unified("a\n" * 50, "b\n" * 50, max_lines=10)
    assert text.splitlines()[-1] == "... 91 lines more"


def test_edits_do_not_depend_on_names_and_numbers():
    assert edits("x1 = y2 - z3;", "x1 = z3 - y2;") == edits("a7 = b8 - c9;", "a7 = c9 - b8;")


def test_a_change_of_spacing_is_one_edit():
    assert len(edits("a = b;\nc = d;\n", "a  = b;\nc  = d;\n")) == 1


def test_the_first_stage_that_differs_is_named():
    old = artefact(stages=(("expand", "1"), ("reduce", "2"), ("linearize", "3")))
    new = artefact(stages=(("expand", "1"), ("reduce", "7"), ("linearize", "8")))
    assert first_stage_that_differs(old, new) == "reduce"


def test_equal_stages_leave_the_renderer():
    stages = (("expand", "1"),)
    old, new = artefact("a", stages=stages), artefact("b", stages=stages)
    assert first_stage_that_differs(old, new) == "render"


def test_stages_of_another_pipeline_tell_nothing():
    old, new = artefact(stages=(("expand", "1"),)), artefact(stages=(("widen", "1"),))
    assert first_stage_that_differs(old, new) is None


def test_a_pipeline_that_lost_a_pass_tells_nothing():
    old = artefact(stages=(("expand", "1"), ("widen", "5"), ("reduce", "2")))
    new = artefact(stages=(("expand", "1"), ("reduce", "3")))
    assert first_stage_that_differs(old, new) is None


def test_a_pass_that_is_new_is_looked_over():
    old = artefact(stages=(("expand", "1"), ("reduce", "2"), ("linearize", "3")))
    new = artefact(stages=(("expand", "1"), ("widen", "5"), ("reduce", "2"), ("linearize", "4")))
    assert first_stage_that_differs(old, new) == "linearize"


def test_passes_in_another_order_tell_nothing():
    old = artefact(stages=(("expand", "1"), ("reduce", "2")))
    new = artefact(stages=(("reduce", "2"), ("expand", "1")))
    assert first_stage_that_differs(old, new) is None


def test_kernels_that_changed_alike_are_one_cluster():
    results = [changed(n, f"  a{n} = b - {n};", f"  a{n} = b + {n};") for n in range(1, 9)]
    _, clusters = with_clusters(results)
    assert [cluster.count for cluster in clusters] == [8]


def test_other_changes_are_other_clusters_the_largest_first():
    results = [changed(1, "a = b;", "a = b + c;"), *(changed(n) for n in range(2, 5)), crashed(9)]
    marked, clusters = with_clusters(results)
    assert [cluster.count for cluster in clusters] == [3, 1, 1]
    assert marked[1].cluster == 1


def renamed(number, old_name, new_name, more=""):
    """A kernel of a user's name, which another version of the compiler spells otherwise."""
    text = "__kernel void {}(__global float *data0) {{\n  data0[0] = 1.0f;{}\n}}"
    old = artefact(text.format(old_name, ""), name=old_name)
    new = artefact(text.format(new_name, more), name=new_name)
    facets = (Facet.SOURCE, Facet.NAME)
    return msgspec.structs.replace(changed(number), old=old, new=new, facets=facets)


def test_names_of_kernels_are_in_no_cluster():
    results = [renamed(n, f"secret{n}_E", f"secret{n}_v2_E", " data0[1] = 2.0f;") for n in (1, 2)]
    _, clusters = with_clusters(results)
    assert [cluster.count for cluster in clusters] == [2]
    assert "secret" not in clusters[0].title


@given(st.text("ab.$ (\n", max_size=20), st.sampled_from(["a", "aa", "aba", "a.b", "a b", "("]))
def test_a_name_is_one_wherever_it_is_a_whole_word(source, name):
    pattern = rf"(?<![\w$.]){re.escape(name)}(?![\w$.])"
    assert under_one_name(source, name) == re.sub(pattern, "kernel", source)


def test_a_change_of_names_alone_is_called_that():
    _, clusters = with_clusters([renamed(1, "mine", "my_own"), renamed(2, "other", "another")])
    assert [(cluster.count, cluster.title) for cluster in clusters] == [(2, "code opencl in names")]


def test_unchanged_kernels_are_in_no_cluster():
    marked, clusters = with_clusters([same(1)])
    assert clusters == ()
    assert marked[0].cluster is None


def test_crashes_with_one_reason_are_one_cluster_whatever_the_numbers_in_it():
    _, clusters = with_clusters([crashed(1, "axis r12 is lost"), crashed(2, "axis r3 is lost")])
    assert len(clusters) == 1


def test_a_change_of_opts_is_told_by_the_opts():
    other = (Opt("UPCAST", {"axis": "g0", "amount": 8}),)
    result = changed(1, outcome=Outcome.OPTS, facets=(Facet.SOURCE, Facet.OPTS))
    result = type(result)(
        **{name: getattr(result, name) for name in result.__struct_fields__}
        | {"new": artefact(applied=other)}
    )
    _, clusters = with_clusters([result])
    assert clusters[0].title == "opts opencl in UPCAST amounts"


def test_blanks_are_the_renderers_whatever_stage_differs_since_a_record_was_made():
    new = "  a =  b - c;"
    results = [changed(n, new=new, stage=s) for n, s in enumerate(("render", "linearize"), 1)]
    _, clusters = with_clusters(results)
    assert [cluster.title for cluster in clusters] == ["code opencl from render: spacing"]
