"""Where a kernel goes wrong inside one compiler: its first wrong stage, rule and opt."""

from replay.blame.answer import Applied, Blamed, Step, Verdict
from replay.blame.session import Answer, Request, blame

__all__ = ["Answer", "Applied", "Blamed", "Request", "Step", "Verdict", "blame"]
