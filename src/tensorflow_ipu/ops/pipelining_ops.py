"""Pipelines."""

from tremula.frontends.tensorflow.pipeline.build import pipeline, recomputation_checkpoint
from tremula.frontends.tensorflow.pipeline.checks import ALL_DEVICES as _ALL_DEVICES
from tremula.frontends.tensorflow.pipeline.checks import to_flat_list as _to_flat_list
from tremula.frontends.tensorflow.pipeline.enums import PipelineSchedule, RecomputationMode
from tremula.frontends.tensorflow.pipeline.optimizer_output import OptimizerFunctionOutput
from tremula.frontends.tensorflow.pipeline.stage_options import PipelineStageOptions

__all__ = [
    "OptimizerFunctionOutput",
    "PipelineSchedule",
    "PipelineStageOptions",
    "RecomputationMode",
    "pipeline",
    "recomputation_checkpoint",
]
