"""Optimizers of TensorFlow 1 style that wrap others: over replicas, over micro-batches, with changed gradients."""
