"""`keras.ipu`: Tremula's, for Keras models written for IPUs. Its packages are imported when they are first used."""

import importlib as _importlib

from tremula.frontends.tensorflow import hooks as _hooks

_hooks.apply(with_strategy=True)
_importlib.import_module("tensorflow_ipu._questions")

from tremula.frontends.tensorflow.keras.assignments import (  # noqa: E402
    FunctionalLayerPipelineStageAssignment,
    FunctionalNestedModelPipelineStageAssignment,
    ModelLayerPipelineStageAssignment,
    NestedModelPipelineStageAssignment,
    SequentialLayerPipelineStageAssignment,
    SequentialNestedModelPipelineStageAssignment,
)
from tremula.frontends.tensorflow.keras.metric_reduction import ReplicatedMetricReductionMethod  # noqa: E402
from tremula.frontends.tensorflow.keras.stages import PipelineStage  # noqa: E402

#: programs read it to see that this is a Keras for IPUs
__ipu__built__ = "1"

__all__ = [
    "FunctionalLayerPipelineStageAssignment",
    "FunctionalNestedModelPipelineStageAssignment",
    "ModelLayerPipelineStageAssignment",
    "NestedModelPipelineStageAssignment",
    "PipelineStage",
    "ReplicatedMetricReductionMethod",
    "SequentialLayerPipelineStageAssignment",
    "SequentialNestedModelPipelineStageAssignment",
]


def __getattr__(name: str) -> object:
    if name in ("extensions", "layers", "optimizers"):
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
