"""Metrics: counts made on the device, and everything that follows from them on the host."""
