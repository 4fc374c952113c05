"""Fuzzing of the compiler: random kernels under random legal opts, judged by several oracles."""

from replay.fuzz.asts import STRATEGIES
from replay.fuzz.campaign import IMPORTS, Example, Find, Plan, Tally, run_campaign
from replay.fuzz.examine import Examined, Failure, Question
from replay.isolation.lab import Lab

__all__ = [
    "IMPORTS", "STRATEGIES", "Examined", "Example", "Failure", "Find", "Lab", "Plan", "Question",
    "Tally", "run_campaign",
]  # fmt: skip
