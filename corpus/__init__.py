"""Kernels kept as records: bytes and fields, with no idea of what a kernel means."""
