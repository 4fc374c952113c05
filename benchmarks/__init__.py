"""Measurements side by side: `python -m benchmarks`. To add one: a part, a line in PARTS."""
