"""Keras layers for IPUs."""

from tremula.frontends.tensorflow.keras.capture_layers import (
    CaptureActivationGradients,
    CaptureUpstreamGradients,
)

__all__ = ["CaptureActivationGradients", "CaptureUpstreamGradients"]
