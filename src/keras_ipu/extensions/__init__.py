"""Extensions of Keras models under an IPUStrategy."""

from keras.ipu.extensions import (
    extensions_base,
    functional_extensions,
    model_extensions,
    pipeline_stage_assignment,
    sequential_extensions,
)

from tremula.frontends.tensorflow.keras.assignments import (
    FunctionalLayerPipelineStageAssignment,
    FunctionalNestedModelPipelineStageAssignment,
    ModelLayerPipelineStageAssignment,
    NestedModelPipelineStageAssignment,
    SequentialLayerPipelineStageAssignment,
    SequentialNestedModelPipelineStageAssignment,
)
from tremula.frontends.tensorflow.keras.metric_reduction import ReplicatedMetricReductionMethod
from tremula.frontends.tensorflow.keras.model_kinds import (
    FunctionalExtension,
    ModelExtension,
    SequentialExtension,
)
from tremula.frontends.tensorflow.keras.stages import PipelineStage

__all__ = [
    "FunctionalExtension",
    "FunctionalLayerPipelineStageAssignment",
    "FunctionalNestedModelPipelineStageAssignment",
    "ModelExtension",
    "ModelLayerPipelineStageAssignment",
    "NestedModelPipelineStageAssignment",
    "PipelineStage",
    "ReplicatedMetricReductionMethod",
    "SequentialExtension",
    "SequentialLayerPipelineStageAssignment",
    "SequentialNestedModelPipelineStageAssignment",
    "extensions_base",
    "functional_extensions",
    "model_extensions",
    "pipeline_stage_assignment",
    "sequential_extensions",
]
