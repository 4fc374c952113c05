"""A tensor compiler: lazy tensors to kernels to LLVM IR or OpenCL C to running code."""
