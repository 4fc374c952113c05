"""Replay a corpus of kernels: say what changed, whether it is right, and why."""
