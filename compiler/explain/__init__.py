"""Why a kernel came out as it did: what was asked, what was chosen, and what every step made."""

from compiler.explain.question import Question
from compiler.explain.report import Explained, Section, explain

__all__ = ["Explained", "Question", "Section", "explain"]
