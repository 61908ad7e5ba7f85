"""The extension of sequential Keras models."""

from tremula.frontends.tensorflow.keras.assignments import (
    SequentialLayerPipelineStageAssignment,
    SequentialNestedModelPipelineStageAssignment,
)
from tremula.frontends.tensorflow.keras.model_kinds import SequentialExtension

__all__ = [
    "SequentialExtension",
    "SequentialLayerPipelineStageAssignment",
    "SequentialNestedModelPipelineStageAssignment",
]
