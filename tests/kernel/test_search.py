"""Beam search: what it tries, what it keeps, and what becomes of schedules that fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compiler import CompileFinished, CompileOptions, compile_kernel, observing
from compiler.compile import search_opts
from compiler.errors import RewriteError
from compiler.kernel import (
    Lowered,
    apply_all,
    beam_search,
    candidates,
    choose,
    cycles,
    format_opts,
    from_ast,
    parse_opts,
    starts,
)
from compiler.options import DEFAULT, Heuristics, ScheduleOptions, SearchOptions
from compiler.target import LLVM, OPENCL, find_target

ROOT = Path(__file__).parents[2]
CORES = find_target("llvm/tiles")


def searching(beam=2, **changed):
    return CompileOptions(search=SearchOptions(beam=beam, **changed))


class Prices:
    """A judge by a table of opts to cost; what is not in it costs `other`."""

    def __init__(self, table, other=100.0, margin=1.0):
        self.table, self.other, self.margin = table, other, margin
        self.asked = []

    def select(self, lowered, beam):
        return lowered

    def costs(self, lowered, *, is_final):
        self.asked += [each.text for each in lowered]
        return [self.table.get(each.program, self.other) for each in lowered]


def lowered(opts):
    text = format_opts(opts)
    return Lowered(text, text, 0.0)


def search(kernel, judge, lower=lowered, target=LLVM, **changed):
    return beam_search(kernel, target, searching(**changed), lower, judge)


# --- candidates ---


@pytest.mark.parametrize("target", [LLVM, OPENCL, CORES], ids=lambda target: target.name)
@pytest.mark.parametrize("name", ["matmul", "row_sum", "two_sums", "transpose", "symbolic"])
def test_every_candidate_is_legal_from_the_start(kernel_of, name, target):
    kernel = kernel_of(name)
    found = list(candidates(kernel, target, DEFAULT))
    assert found, "nothing can be done to it"
    for after in found:
        assert apply_all(kernel, after.applied, target) == after


def test_candidates_of_work_groups_are_there_only_for_targets_that_have_them(kernel_of):
    def ops(target):
        steps = candidates(kernel_of("matmul"), target, DEFAULT)
        return {opt.op for after in steps for opt in after.applied}

    assert {"LOCAL", "GROUP", "GROUPTOP", "NOLOCALS"} <= ops(OPENCL)
    assert not {"LOCAL", "GROUP", "GROUPTOP", "NOLOCALS"} & ops(LLVM)


def test_padding_comes_with_the_opt_that_it_is_for(kernel_of):
    padded = [
        format_opts(after.applied)
        for after in candidates(kernel_of("matmul"), LLVM, DEFAULT)
        if after.pads
    ]
    assert "PADTO g1 8; UPCAST g1 8" in padded
    assert all("UPCAST" in opts for opts in padded)


def test_a_tensor_core_is_tried_on_an_untouched_kernel(ast_of):
    text = """
%0 = BUFFER float32 slot=0 size=1024
%1 = BUFFER float32 slot=1 size=1024
%2 = LOAD float32 %1 view=[(32,32,32):(32,0,1)]
%3 = BUFFER float32 slot=2 size=1024
%4 = LOAD float32 %3 view=[(32,32,32):(0,1,32)]
%5 = MUL float32 %2 %4
%6 = REDUCE float32 %5 op=ADD axes=(r0)
%7 = STORE void %0 %6 view=[(32,32,32):(32,1,0)]
%8 = SINK void %7 axes=(g0:32,g1:32,r0:32)
"""
    kernel = from_ast(ast_of(text))
    first = [after.applied[0].op for after in candidates(kernel, CORES, DEFAULT)]
    assert first[0] == "TC"
    assert "TC" not in [after.applied[0].op for after in candidates(kernel, LLVM, DEFAULT)]


def test_a_search_starts_from_the_heuristics_choice_and_all_that_leads_to_it(kernel_of):
    kernel = kernel_of("matmul")
    chosen = choose(kernel, LLVM, DEFAULT)
    found = [start.applied for start in starts(kernel, LLVM, DEFAULT)]
    assert found[0] == chosen
    assert {chosen[:length] for length in range(len(chosen))} <= set(found)


# --- the beam ---


def test_the_cheapest_schedule_wins(kernel_of):
    found = search(kernel_of("row_sum"), Prices({"UNROLL r0 2": 7.0}))
    assert format_opts(found.opts) == "UNROLL r0 2"


def test_a_schedule_of_several_steps_is_found_where_each_is_cheaper(kernel_of):
    prices = {"UNROLL r0 2": 70.0, "UNROLL r0 2; UPCAST g0 3": 50.0}
    found = search(kernel_of("row_sum"), Prices(prices), beam=1)
    assert format_opts(found.opts) == "UNROLL r0 2; UPCAST g0 3"


def test_the_heuristics_choice_is_always_in_the_last_round(kernel_of):
    kernel = kernel_of("row_sum")
    dear = Prices({format_opts(choose(kernel, LLVM, DEFAULT)): 1000.0})
    found = search(kernel, dear, beam=1)
    assert found.by_heuristics in [finalist.opts for finalist in found.finalists]
    assert found.opts != found.by_heuristics


def test_the_heuristics_choice_stays_unless_another_is_below_the_margin(kernel_of):
    kernel = kernel_of("row_sum")
    ours = format_opts(choose(kernel, LLVM, DEFAULT))
    close = {ours: 10.0, "UNROLL r0 2": 9.6}
    assert search(kernel, Prices(close, margin=0.95)).opts == choose(kernel, LLVM, DEFAULT)
    assert format_opts(search(kernel, Prices(close, margin=0.97)).opts) == "UNROLL r0 2"


def test_what_was_cheap_by_luck_does_not_win(kernel_of):
    class Lucky(Prices):
        """Once the last round is judged, nothing is cheap any more."""

        def costs(self, lowered, *, is_final):
            found = super().costs(lowered, is_final=is_final)
            if is_final:
                self.table = {}
            return found

    kernel = kernel_of("row_sum")
    found = search(kernel, Lucky({"UNROLL r0 2": 7.0}))
    assert (format_opts(found.finalists[0].opts), found.finalists[0].cost) == ("UNROLL r0 2", 7.0)
    assert found.opts == choose(kernel, LLVM, DEFAULT)


def test_equal_costs_are_decided_by_the_fewest_opts_then_by_their_text(kernel_of):
    kernel = kernel_of("row_sum")
    dear = {format_opts(choose(kernel, LLVM, DEFAULT)): 1000.0}
    assert search(kernel, Prices(dear)).opts == ()


def test_a_schedule_that_cannot_be_lowered_is_dropped_and_counted(kernel_of):
    def lower(opts):
        if any(opt.op == "UNROLL" for opt in opts[:1]) and opts != choose(kernel, LLVM, DEFAULT):
            raise RewriteError("too large")
        return lowered(opts)

    kernel = kernel_of("row_sum")
    found = search(kernel, Prices({"UPCAST g0 4": 1.0}), lower)
    assert dict(found.dropped)["RewriteError"] > 1
    assert format_opts(found.opts).startswith("UPCAST g0 4")


def test_a_schedule_that_does_not_run_is_dropped_and_counted(kernel_of):
    found = search(
        kernel_of("row_sum"), Prices({"UNROLL r0 2": "does not run", "UPCAST g0 4": 3.0})
    )
    assert dict(found.dropped)["does not run"] == 1
    assert format_opts(found.opts) == "UPCAST g0 4"


def test_where_nothing_runs_the_heuristics_choice_is_taken(kernel_of):
    found = search(kernel_of("row_sum"), Prices({}, other="does not run"))
    assert found.opts == choose(kernel_of("row_sum"), LLVM, DEFAULT)
    assert found.finalists == ()


def test_an_error_of_the_heuristics_own_choice_is_the_compiles(kernel_of):
    def lower(_):
        raise RewriteError("too large")

    with pytest.raises(RewriteError, match="too large"):
        search(kernel_of("row_sum"), Prices({}), lower)


def test_equal_sources_are_judged_once(kernel_of):
    judge = Prices({})
    found = search(kernel_of("matmul"), judge, lambda opts: Lowered("same", "same", 0.0))
    assert judge.asked == ["same", "same"], "once, and once more as the only finalist"
    assert found.duplicates == found.lowered - 1


def test_loops_that_differ_in_names_alone_are_lowered_once(kernel_of):
    seen = []

    def lower(opts):
        seen.append(frozenset(map(str, opts)))
        return lowered(opts)

    search(kernel_of("two_sums"), Prices({}), lower, depth=3)
    assert len(seen) == len(set(seen)), "two orders of the same opts"


# --- options, each of which changes what is chosen ---


def test_without_a_beam_the_heuristics_choose(ast_of):
    ast = ast_of("row_sum")
    assert compile_kernel(ast, LLVM).applied == choose(from_ast(ast), LLVM, DEFAULT)
    searched = compile_kernel(ast, LLVM, searching()).applied
    assert searched != compile_kernel(ast, LLVM).applied


def test_a_wider_beam_finds_what_looks_worse_at_first(kernel_of):
    prices = {"UNROLL r0 2": 50.0, "UNROLL r0 4": 60.0, "UNROLL r0 4; UPCAST g0 12": 5.0}
    narrow, wide = [search(kernel_of("row_sum"), Prices(prices), beam=beam) for beam in (1, 2)]
    assert format_opts(narrow.opts) == "UNROLL r0 2"
    assert format_opts(wide.opts) == "UNROLL r0 4; UPCAST g0 12"


def test_the_depth_limits_the_rounds(kernel_of):
    prices = {"UNROLL r0 2": 70.0, "UNROLL r0 2; UPCAST g0 3": 50.0}
    assert format_opts(search(kernel_of("row_sum"), Prices(prices), depth=1).opts) == "UNROLL r0 2"


def test_the_tries_limit_what_is_lowered(kernel_of):
    found = search(kernel_of("matmul"), Prices({}), tries=9)
    assert found.lowered == 9


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"beam": -1}, "search.beam is -1: use 0 or more"),
        ({"depth": 0}, "search.depth is 0: use 1 or more"),
        ({"tries": 0}, "search.tries is 0: use 1 or more"),
        ({"limit_s": 0}, "search.limit_s is 0: use 1 or more"),
        ({"cost": "time"}, "search.cost is 'time': use a value of type Cost"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(changed, reason):
    with pytest.raises(ValueError, match=reason):
        SearchOptions(**changed)


# --- in a compile ---


def test_a_search_is_a_compile_like_any_other(ast_of):
    events = []
    with observing(events.append):
        found = compile_kernel(ast_of("row_sum"), LLVM, searching())
    assert [type(event).__name__ for event in events] == ["CompileStarted", "CompileFinished"]
    assert isinstance(events[1], CompileFinished)
    assert events[1].compiled.requested is None
    again = compile_kernel(ast_of("row_sum"), LLVM, searching(), found.applied)
    assert again.program == found.program
    assert again.rewrites == found.rewrites, "what is compared is not counted"


def test_without_heuristics_a_search_starts_from_nothing(ast_of):
    options = CompileOptions(
        schedule=ScheduleOptions(heuristics=Heuristics.NONE), search=SearchOptions(beam=2)
    )
    found = search_opts(ast_of("row_sum"), LLVM, options)
    assert found.by_heuristics == ()
    assert found.opts


PROGRAM = """
import sys
from compiler import CompileOptions, compile_kernel, find_target, parse_node
from compiler.options import SearchOptions
options = CompileOptions(search=SearchOptions(beam=2, tries=10))
ast = parse_node(sys.stdin.read())
for name in ("llvm", "opencl"):
    print(compile_kernel(ast, find_target(name), options).program.source)
"""


def test_the_model_finds_the_same_in_every_process_and_hash_seed(ast_text_of):
    answers = set()
    for seed in ("1", "2"):
        environ = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=ast_text_of("matmul"),
            env=environ,
            capture_output=True,
            text=True,
            check=True,
        )
        answers.add(done.stdout)
    assert len(answers) == 1


# --- the model ---


def by_model(ast, opts, target=LLVM):
    found = compile_kernel(ast, target, DEFAULT, opts)
    return cycles(found.stages[-1].node, target.capabilities)


def test_the_model_prefers_vectors_to_scalars(ast_of):
    ast = ast_of("matmul")
    assert by_model(ast, parse_opts("UPCAST g1 12; UPCAST g0 4")) < by_model(ast, ()) / 4


def test_the_model_sees_a_sum_that_waits_for_itself(ast_of):
    text = """
%0 = BUFFER float32 slot=0 size=1
%1 = BUFFER float32 slot=1 size=4096
%2 = LOAD float32 %1 view=[(4096):(1)]
%3 = REDUCE float32 %2 op=ADD axes=(r0)
%4 = STORE void %0 %3 view=[(4096):(0)]
%5 = SINK void %4 axes=(r0:4096)
"""
    ast = ast_of(text)
    assert by_model(ast, parse_opts("UNROLL r0 32")) < by_model(ast, parse_opts("UNROLL r0 16"))


def test_the_model_sees_lines_that_are_touched_for_one_element(ast_of):
    text = """
%0 = BUFFER float32 slot=0 size=1048576
%1 = BUFFER float32 slot=1 size=2097152
%2 = LOAD float32 %1 view=[(1024,1024):(2048,1)]
%3 = STORE void %0 %2 view=[(1024,1024):(1024,1)]
%4 = SINK void %3 axes=(g0:1024,g1:1024)
"""
    ast = ast_of(text)
    assert by_model(ast, ()) < by_model(ast, parse_opts("SWAP g0 g1"))
