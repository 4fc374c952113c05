"""Replay a corpus of kernels against a compiler and say what changed, whether it is right, and why."""
