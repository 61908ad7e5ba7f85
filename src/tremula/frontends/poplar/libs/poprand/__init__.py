"""Library functions of poprand: calls with their kernels, and the work that they are for the chip model."""
