"""The extension of subclassed Keras models."""

from tremula.frontends.tensorflow.keras.assignments import (
    ModelLayerPipelineStageAssignment,
    NestedModelPipelineStageAssignment,
)
from tremula.frontends.tensorflow.keras.model_kinds import ModelExtension

__all__ = ["ModelExtension", "ModelLayerPipelineStageAssignment", "NestedModelPipelineStageAssignment"]
