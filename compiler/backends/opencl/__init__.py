"""OpenCL C 1.2, built by the platform's compiler."""
