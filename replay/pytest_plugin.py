"""The pytest plugin: `pytest --replay-corpus DIR [--replay-check | --replay-update]`.

Every pytest of an environment imports this module, so it imports nothing but pytest until it is
asked for something.
"""

import importlib

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the three options."""
    group = parser.getgroup("replay", "kernel replay")
    group.addoption(
        "--replay-corpus",
        metavar="DIR",
        help="record every kernel that the tests compile in this corpus",
    )
    group.addoption(
        "--replay-check",
        action="store_true",
        help="leave the corpus as it is, and fail if a kernel differs from it",
    )
    group.addoption(
        "--replay-update",
        action="store_true",
        help="make the kernels of this run the baseline, if every test passes",
    )


@pytest.hookimpl(trylast=True)  # where `compiler` comes from is settled by then
def pytest_configure(config: pytest.Config) -> None:
    """Load the rest of the plugin, if this run asks for it."""
    options = ("replay_corpus", "replay_check", "replay_update")
    if any(config.getoption(name) for name in options):
        importlib.import_module("replay.pytest_session").start(config)
