"""Measured on this host: TensorFlow programs in several processes."""
