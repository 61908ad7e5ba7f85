"""Keras layers and optimizers made for IPUs."""
