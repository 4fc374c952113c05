"""Kernels with images in a corpus: recorded, compared, and judged by the reference."""

import json

import pytest
from programs import make_corpus, record_of, run

from compiler import compile_kernel, find_target, open_device, parse_node
from compiler.errors import DeviceError
from replay.numerics.stagewise import judged, runs_of
from replay.patched import Patch, copy_compiler

BLUR = """ir 1
%0 = IMAGE {dtype} slot=0 size=256 width=8
%1 = IMAGE {dtype} slot=1 size=256 width=8
%2 = LOAD {dtype} %1 view=[(8,10,4):(32,4,1)+-4?(0:8,1:9,0:4)|(8,8,3,4):(40,4,4,1)]
%3 = REDUCE {dtype} %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(8,8,3,4):(32,4,0,1)]
%5 = SINK void %4 axes=(g0:8,g1:8,r0:3,g2:4)
"""


def has_images():
    try:
        return open_device("opencl").why_unlike(find_target("opencl/pocl")) is None
    except DeviceError:
        return False


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    wide, narrow = [BLUR.format(dtype=dtype) for dtype in ("float32", "float16")]
    records = [record_of(wide, target) for target in ("opencl/pocl", "llvm")]
    records += [record_of(narrow, target) for target in ("opencl/pocl", "opencl/adreno")]
    return make_corpus(tmp_path_factory.mktemp("corpora") / "images", records)


@pytest.fixture(scope="module")
def report(corpus, tmp_path_factory):
    path = tmp_path_factory.mktemp("reports") / "report.json"

    def replay(capsys, *words):
        words = ("--verify", "all", "--jobs", "1", "--report", f"json:{path}", *words)
        run(capsys, "run", "--corpus", corpus, *words)
        return json.loads(path.read_text())

    return replay


def test_kernels_with_images_are_replayed_and_judged(capsys, report):
    found = report(capsys)
    assert found["totals"]["same"] == found["totals"]["records"] == 4
    numerics = {(record["target"], record["numerics"]) for record in found["records"]}
    here = "bounded" if has_images() else "skipped"
    expected = {("llvm/cpu", "bounded"), ("opencl/adreno", "skipped"), ("opencl/pocl", here)}
    assert numerics == expected


def test_a_wrong_border_is_found(capsys, report, tmp_path):
    """The sampler of a compiler that repeats the border instead of reading 0 beyond it."""

    if not has_images():
        pytest.skip("no device here has images")
    file = "compiler/backends/opencl/pixels.py"
    patch = Patch(file, "CLK_ADDRESS_CLAMP |", "CLK_ADDRESS_CLAMP_TO_EDGE |")
    tree = copy_compiler(tmp_path, (patch,))
    found = report(capsys, "--compiler", str(tree), "--target", "opencl/pocl")
    wrong = [record for record in found["records"] if record["numerics"] == "wrong"]
    assert {record["target"] for record in wrong} == {"opencl/pocl"}
    assert len(wrong) == 2


@pytest.mark.parametrize("target", ["opencl/pocl", "opencl/adreno"])
def test_the_stages_of_a_kernel_with_images_are_shown(capsys, corpus, target):
    _, listed, _ = run(capsys, "list", "--corpus", corpus, "--target", target)
    key = listed.split()[0]
    code, shown, _ = run(capsys, "show", key, "--corpus", corpus, "--stages", "--trace")
    assert code == 0
    assert "== stage images" in shown
    assert "write_imagef" in shown or "write_imageh" in shown


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_kernel_with_images_is_right_after_any_number_of_rewrites(dtype):
    ast, target = parse_node(BLUR.format(dtype=dtype)), find_target("opencl/pocl")
    whole = compile_kernel(ast, target)
    runs = runs_of(whole)
    for limit in range(0, whole.rewrites + 1, 9):
        cut = compile_kernel(ast, target, opts=whole.applied, rewrite_limit=limit)
        assert cut.rewrites == limit
        assert not judged(cut.stages[-1].node, runs).is_wrong
