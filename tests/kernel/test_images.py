"""Images before lowering: which axes stay apart, and what has to be four by four."""

import pytest

from compiler import compile_kernel, find_target
from compiler.errors import IllegalOptError
from compiler.ir import parse_node
from compiler.kernel import choose, decisions, format_opts, from_ast
from compiler.options import DEFAULT, CompileOptions, Heuristics, ScheduleOptions

OFF = CompileOptions(schedule=ScheduleOptions(heuristics=Heuristics.NONE))
POCL = find_target("opencl/pocl")
COPY = """ir 1
%0 = {out} float32 slot=0 size={size}{out_width}
%1 = {read} float32 slot=1 size={size}{read_width}
%2 = LOAD float32 %1 view=[({shape}):({strides})]
%3 = STORE void %0 %2 view=[({shape}):({strides})]
%4 = SINK void %3 axes=({axes})
"""
GAPS = """ir 1
%0 = IMAGE float32 slot=0 size=48 width=3
%1 = BUFFER float32 slot=1 size=24
%2 = LOAD float32 %1 view=[(4,6):(6,1)]
%3 = STORE void %0 %2 view=[(4,6):({strides})]
%4 = SINK void %3 axes=(g0:4,g1:6)
"""
SUM = """ir 1
%0 = BUFFER float32 slot=0 size={rows}
%1 = IMAGE float32 slot=1 size={size} width={width}
%2 = LOAD float32 %1 view=[({rows},{terms}):({strides})]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[({rows},{terms}):(1,0)]
%5 = SINK void %4 axes=(g0:{rows},r0:{terms})
"""


def copy(*shape, width, out="BUFFER", read="IMAGE"):
    """A row-major copy between arrays of which the images have rows of `width` pixels."""
    strides, size = [], 1
    for length in reversed(shape):
        strides.insert(0, size)
        size *= length
    text = COPY.format(
        out=out,
        out_width=f" width={width}" if out == "IMAGE" else "",
        read=read,
        read_width=f" width={width}" if read == "IMAGE" else "",
        size=size,
        shape=",".join(map(str, shape)),
        strides=",".join(map(str, strides)),
        axes=",".join(f"g{at}:{length}" for at, length in enumerate(shape)),
    )
    return parse_node(text)


def row_sums(rows, terms, strides=None):
    strides = f"{terms},1" if strides is None else strides
    size = rows * terms
    return parse_node(
        SUM.format(rows=rows, terms=terms, size=size, width=size // 16, strides=strides)
    )


def sizes(ast):
    return [axis.size for axis in from_ast(ast).axes]


def chosen(ast, options=DEFAULT, target=POCL):
    return format_opts(choose(from_ast(ast), target, options))


# --- axes ---


def test_axes_are_not_merged_across_the_rows_of_an_image():  # row 25
    assert sizes(copy(6, 8, 4, width=8)) == [6, 32]
    assert sizes(copy(6, 32, width=8)) == [6, 32]


def test_axes_are_merged_within_a_row_and_over_whole_rows():  # row 25
    assert sizes(copy(2, 3, 8, 4, width=8)) == [6, 32]
    assert sizes(copy(6, 8, 4, width=48)) == [192]


def test_the_rows_of_outputs_stay_apart_too():
    assert sizes(copy(6, 8, 4, width=8, out="IMAGE")) == [6, 32]


# --- what has to be ---


def test_an_image_that_is_written_is_upcast_by_4_before_all_else():  # row 58
    assert chosen(copy(6, 8, 4, width=8, out="IMAGE")).startswith("UPCAST g1 4")


def test_whole_pixels_are_written_with_heuristics_off():  # row 58
    image = copy(6, 8, 4, width=8, out="IMAGE", read="BUFFER")
    assert chosen(image, OFF) == "UPCAST g1 4"
    assert "write_imagef(" in compile_kernel(image, POCL, OFF).program.source


@pytest.mark.parametrize("options", [DEFAULT, OFF], ids=["heuristics", "none"])
@pytest.mark.parametrize("strides", ["12,1", "12,2"])
def test_an_image_that_no_axis_fills_by_pixel_is_an_error(strides, options):  # row 58
    ast = parse_node(GAPS.format(strides=strides))
    with pytest.raises(IllegalOptError, match="image 0 is written by pixel: needs an output axis"):
        compile_kernel(ast, POCL, options)
    compile_kernel(ast, find_target("opencl"), options)  # a buffer there


# --- what is chosen ---


def test_an_image_that_is_read_along_a_sum_is_unrolled_by_4():  # row 64
    assert "UNROLL r0 4" in chosen(row_sums(4096, 16))


def test_an_image_that_is_read_along_an_output_axis_is_upcast_by_4():  # row 64
    assert chosen(row_sums(4096, 16, strides="1,4096")).startswith("UPCAST g0 4")


def test_what_a_work_item_has_left_of_a_sum_is_read_by_pixel():  # row 64
    assert chosen(row_sums(8, 4096)) == "GROUPTOP r0 256; UNROLL r0.i 4"


def test_an_image_with_lanes_already_gets_no_more():  # row 64
    ast = copy(64, 8, 4, width=8, out="IMAGE")
    said = {
        each.heuristic: format_opts(each.opts) for each in decisions(from_ast(ast), POCL, DEFAULT)
    }
    assert said["written_pixels"] == "UPCAST g1 4"
    assert said["read_pixels"] == ""


def test_nothing_is_chosen_for_images_on_targets_without():
    assert "UNROLL r0 4" not in chosen(row_sums(8, 4096), target=find_target("opencl"))
