"""The extension of functional Keras models."""

from tremula.frontends.tensorflow.keras.assignments import (
    FunctionalLayerPipelineStageAssignment,
    FunctionalNestedModelPipelineStageAssignment,
)
from tremula.frontends.tensorflow.keras.model_kinds import FunctionalExtension

__all__ = [
    "FunctionalExtension",
    "FunctionalLayerPipelineStageAssignment",
    "FunctionalNestedModelPipelineStageAssignment",
]
