"""The IPU's own operations on stock TensorFlow ops: one module per family."""
