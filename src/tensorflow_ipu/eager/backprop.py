"""Contexts that capture gradients."""

from tremula.frontends.tensorflow.gradient_capture import (
    GradientCaptureContext,
    GradientCaptureTape,
    num_gradient_collection_tapes,
)

__all__ = ["GradientCaptureContext", "GradientCaptureTape", "num_gradient_collection_tapes"]
