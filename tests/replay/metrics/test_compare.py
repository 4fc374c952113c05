"""Helped, hurt, affected: what a change does to a metric."""

import pytest
from results import changed, key, same

from replay.metrics import METRICS, Better, summarize


def kernel(number, **metrics):
    return changed(number, metrics=metrics)


def summary(name, *results):
    return {each.name: each for each in summarize(results)}[name]


def test_fewer_instructions_help_and_more_hurt():
    found = summary("instructions", *[kernel(n, instructions=(10, n)) for n in (8, 10, 12, 13)])
    assert (found.compared, found.affected, found.helped, found.hurt) == (4, 3, 1, 2)
    assert (found.old_total, found.new_total) == (40, 43)


def test_wider_vectors_help():
    found = summary("vector_bits", kernel(1, vector_bits=(128, 512)))
    assert (found.helped, found.hurt) == (1, 0)


def test_a_metric_without_a_better_side_only_affects():
    found = summary("vector_registers", kernel(1, vector_registers=(4, 9)))
    assert (found.affected, found.helped, found.hurt) == (1, 0, 0)


@pytest.mark.parametrize("loops", ["iterations", "code_loops"])
def test_static_counts_say_nothing_where_the_loops_differ(loops):
    found = summary("instructions", kernel(1, instructions=(9, 99), **{loops: (1, 2)}))
    assert (found.compared, found.hurt, found.other_loops) == (0, 0, 1)


def test_executed_iterations_are_compared_whatever_the_loops():
    found = summary("iterations", kernel(1, iterations=(8, 64), code_loops=(1, 2)))
    assert (found.hurt, found.ratio) == (1, 8)


def test_the_mean_is_geometric_so_halves_and_doubles_cancel():
    found = summary("cycles", kernel(1, cycles=(1, 2)), kernel(2, cycles=(2000, 1000)))
    assert found.ratio == 1


def test_what_is_known_on_one_side_is_gained_or_lost_and_not_compared():
    found = summary("cycles", kernel(1, cycles=(None, 2)), kernel(2, cycles=(2, None)))
    assert (found.compared, found.gained, found.lost) == (0, 1, 1)


def test_the_worst_is_the_kernel_that_it_hurt_most_in_proportion():
    found = summary("spills", kernel(1, spills=(100, 150)), kernel(2, spills=(1, 4)))
    assert found.worst == key(2)


def test_results_that_were_not_measured_are_left_out():
    assert summarize([same(1), changed(2)]) == ()


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_metric_says_its_unit(metric):
    assert metric.meaning.endswith(f"; {metric.unit.replace('/', ' per ')}.") or (
        metric.unit == "elements/element" and "elements per element." in metric.meaning
    )


def test_names_of_metrics_differ_and_their_better_sides_are_said():
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert {metric.better for metric in METRICS} == set(Better)
