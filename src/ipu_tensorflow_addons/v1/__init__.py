"""Layers and optimizers for TensorFlow 1 style programs."""
