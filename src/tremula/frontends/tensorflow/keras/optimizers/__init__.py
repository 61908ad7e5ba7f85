"""Keras optimizers for the IPU: automatic loss scaling, and accumulation of gradients."""
