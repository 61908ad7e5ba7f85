"""Functions of popnn for neural networks: what they compute and what they are for the chip model."""
