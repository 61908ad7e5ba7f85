"""Gradient capture."""

from tremula.frontends.tensorflow.gradient_capture import capture_upstream_gradients

__all__ = ["capture_upstream_gradients"]
