"""What is known about layers, models and machines."""

from tremula.frontends.tensorflow.addons.auto_pipeline.types import (
    AutoPipelineConfiguration,
    ConnectionInfo,
    CycleInfo,
    IPUClusterInfo,
    LayerInfo,
    MemoryBaseInfo,
    MemoryLayerInfo,
    MemoryRangeInfo,
    ModelInfo,
    RangeInfo,
)

__all__ = [
    "AutoPipelineConfiguration",
    "ConnectionInfo",
    "CycleInfo",
    "IPUClusterInfo",
    "LayerInfo",
    "MemoryBaseInfo",
    "MemoryLayerInfo",
    "MemoryRangeInfo",
    "ModelInfo",
    "RangeInfo",
]
