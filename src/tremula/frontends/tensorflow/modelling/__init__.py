"""The chip model's view of TensorFlow programs: how they lie on IPUs, and questions about them."""
