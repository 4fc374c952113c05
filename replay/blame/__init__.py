"""Where a kernel goes wrong inside one compiler: its first wrong stage, rule and opt."""

from replay.blame.answer import Applied, Blamed, Difference, Step, Verdict
from replay.blame.session import Answer, Request, blame

__all__ = ["Answer", "Applied", "Blamed", "Difference", "Request", "Step", "Verdict", "blame"]
