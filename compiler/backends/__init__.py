"""Backends: PROGRAM to source to running code. To add one: a package and a line in BACKENDS."""
