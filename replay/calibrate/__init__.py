"""Measures the oracles: which of them see which deliberate faults of the compiler, and how fast."""

from replay.calibrate.mutants import MUTANTS, Fault, Mutant
from replay.calibrate.session import Calibrated, Caught, Plan, calibrate, reasons_of

__all__ = ["MUTANTS", "Calibrated", "Caught", "Fault", "Mutant", "Plan", "calibrate", "reasons_of"]
