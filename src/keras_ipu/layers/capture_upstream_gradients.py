"""Keras layers that capture gradients."""

from tremula.frontends.tensorflow.keras.capture_layers import (
    CaptureActivationGradients,
    CaptureUpstreamGradients,
    _ActivationCapture,
)

__all__ = ["CaptureActivationGradients", "CaptureUpstreamGradients", "_ActivationCapture"]
