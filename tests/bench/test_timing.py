"""Timing several things against each other, with a clock that the test moves."""

from compiler.bench.timing import MOST_RUNS, least_seconds


class Machine:
    """Runs that take what they say, on a clock of their own."""

    def __init__(self):
        self.now = 0.0
        self.order = []

    def clock(self):
        return self.now

    def taking(self, name, *seconds):
        """A run of `seconds`, one after the other; the last one stays."""
        left = list(seconds)

        def run(count):
            self.order.append((name, count))
            for _ in range(count):
                self.now += left.pop(0) if len(left) > 1 else left[0]

        return run


def test_the_fastest_turn_counts():
    machine = Machine()
    runs = [machine.taking("a", 1, 1, 9, 2, 7), machine.taking("b", 3)]
    assert least_seconds(runs, 3, 0.0, machine.clock) == [2, 3]


def test_every_turn_has_everything_and_every_other_goes_backwards():
    machine = Machine()
    least_seconds([machine.taking(name, 1) for name in "abc"], 3, 0.0, machine.clock)
    turns = "".join(name for name, _ in machine.order[6:])
    assert turns == "abccbaabc"


def test_what_is_short_is_repeated_until_a_turn_is_long_enough():
    machine = Machine()
    least_seconds([machine.taking("a", 0.25), machine.taking("b", 4)], 1, 1.0, machine.clock)
    assert machine.order[4:] == [("a", 4), ("b", 1)]


def test_the_first_run_counts_for_nothing():
    machine = Machine()
    least_seconds([machine.taking("a", 100, 0.5)], 1, 1.0, machine.clock)
    assert machine.order[-1] == ("a", 2)


def test_what_takes_no_time_is_not_repeated_for_ever():
    machine = Machine()
    least_seconds([machine.taking("a", 0.0)], 1, 1.0, machine.clock)
    assert machine.order[-1] == ("a", MOST_RUNS)
