"""Keras on virtual IPUs."""
