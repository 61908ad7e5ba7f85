"""Keras layers made for the IPU."""
