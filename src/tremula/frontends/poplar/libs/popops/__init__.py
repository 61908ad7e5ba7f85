"""Library functions of popops: calls with their kernels, and the work that they are for the chip model."""
