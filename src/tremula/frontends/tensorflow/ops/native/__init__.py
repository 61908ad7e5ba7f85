"""The device's own ops under the names and arguments of the generated modules, on stock TensorFlow ops."""
