"""LLVM IR for the host's CPU, compiled in this process."""
