"""Values with bounds on how far a correct implementation may be from them."""

from compiler.backends.reference.bounds.approx import to_working
from compiler.backends.reference.bounds.bounded import Bounded
from compiler.backends.reference.bounds.functions import NATIVE_ULP, PORTABLE_ULP

__all__ = ["NATIVE_ULP", "PORTABLE_ULP", "Bounded", "to_working"]
