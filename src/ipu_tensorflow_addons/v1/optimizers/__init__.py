"""There are no optimizers of TensorFlow 1 style here."""
