"""Loops and elements, counted in sources."""

import time
from pathlib import Path

import pytest
from small_kernels import row_sum

from compiler import compile_kernel, find_target
from compiler.ir import parse_node
from corpus import Selection, open_reader, select
from replay.codec import artefact_of
from replay.compare.diff import artefact_of as recorded_artefact
from replay.metrics.sizes import elements_written
from replay.metrics.work import work_of
from replay.subject import Detail

SEEDS = Path(__file__).parents[3] / "corpus" / "seeds" / "seeds.txt"
BACKENDS = ("llvm", "opencl")


def work(ast, backend, opts=()):
    return work_of(artefact_of(compile_kernel(ast, find_target(backend), opts=opts), Detail.OUTPUT))


def _is_padded(seed):
    return any(opt.name == "PADTO" for opt in seed.applied)


@pytest.fixture(scope="module")
def seeds():
    with open_reader(SEEDS) as reader:
        return [recorded_artefact(item.record) for item in select(reader, Selection())]


def test_every_seed_writes_as_many_elements_as_its_outputs_have(seeds):
    """Loops, launches, lanes and guards are all in that product."""
    exact = [seed for seed in seeds if not _is_padded(seed)]
    assert len(exact) > 400
    assert [seed.name for seed in exact if work_of(seed).writes != elements_written(seed)] == []


def test_a_padded_axis_counts_with_its_padding(seeds):
    padded = [seed for seed in seeds if _is_padded(seed)]
    assert padded
    for seed in padded:
        assert elements_written(seed) <= work_of(seed).writes < 2 * elements_written(seed), (
            seed.name
        )


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_sum_over_rows_is_a_loop_in_a_loop(backend):
    found = work(row_sum(4, 32), backend)
    assert (found.reads, found.writes, found.iterations) == (4 * 32, 4, 4 + 4 * 32)
    assert found.loops == {"llvm": 2, "opencl": 1}[backend]  # the launch is no loop of the source


SYMBOLIC = """ir 1
%0 = BUFFER float32 slot=0 size=12
%1 = VAR int64 name=n lo=1 hi=64
%2 = CONST int64 value=12 view=none
%3 = MUL int64 %1 %2
%4 = BUFFER float32 slot=1 size=%3
%5 = LOAD float32 %4 view=[(12,%1):(1,12)]
%6 = REDUCE float32 %5 op=ADD axes=(r0)
%7 = STORE void %0 %6 view=[(12,%1):(1,0)]
%8 = SINK void %7 axes=(g0:12,r0:%1)
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_variable_counts_at_its_largest(backend):
    found = work(parse_node(SYMBOLIC), backend)
    assert (found.reads, found.iterations) == (12 * 64, 12 + 12 * 64)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_loop_whose_end_is_not_known_is_not_guessed(backend):
    artefact = artefact_of(
        compile_kernel(row_sum(4, 32), find_target(backend), opts=()), Detail.OUTPUT
    )
    source = artefact.source.replace(", 32\n", ", %what\n").replace("< 32;", "< what;")
    assert source != artefact.source
    unknown = type(artefact)(**{**asdict(artefact), "source": source})
    assert work_of(unknown) is None


@pytest.mark.parametrize("backend", BACKENDS)
def test_loops_too_deep_to_be_meant_are_not_counted(backend):
    """The product of their trips alone took minutes, outside of every limit."""
    artefact = artefact_of(
        compile_kernel(row_sum(4, 32), find_target(backend), opts=()), Detail.OUTPUT
    )
    head, brace, body = artefact.source.partition("{\n")
    loops = {
        "opencl": "".join(f"  for (int i{n} = 0; i{n} < 3; i{n}++) {{\n" for n in range(30_000)),
        "llvm": "".join(f"l{n}:\n" for n in range(30_000))
        + "".join(f"  br label %l{n}\n" for n in range(30_000)),
    }[backend]
    deep = type(artefact)(**{**asdict(artefact), "source": head + brace + loops + body})
    begun = time.process_time()
    assert work_of(deep) is None
    assert time.process_time() - begun < 20


def test_more_iterations_than_64_bits_count_are_not_counted():
    """Reports divide by them, and there is no such float."""
    compiled = compile_kernel(row_sum(4, 32), find_target("opencl"), opts=())
    artefact = artefact_of(compiled, Detail.OUTPUT)
    head, brace, body = artefact.source.partition("{\n")
    loops = "".join(f"  for (int i{n} = 0; i{n} < 999999999; i{n}++) {{\n" for n in range(36))
    assert (
        work_of(type(artefact)(**{**asdict(artefact), "source": head + brace + loops + body}))
        is None
    )


def test_a_source_in_another_language_has_no_work(seeds):
    other = type(seeds[0])(**{**asdict(seeds[0]), "source": "(module)"})
    assert work_of(other) is None


def asdict(artefact):
    return {name: getattr(artefact, name) for name in artefact.__struct_fields__}
