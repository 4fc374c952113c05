"""What differs between two artefacts, and which kernels changed in the same way."""
