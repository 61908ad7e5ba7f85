"""The message of a configuration."""

from tremula.frontends.tensorflow.config.messages import (
    IpuDeviceConnectionType,
    IpuExecutionProfileType,
    IpuOptions,
    IpuOptionsCreator,
    IpuSchedulingAlgorithm,
    IpuSelectionOrder,
    StochasticRoundingBehaviour,
    SyntheticDataCategory,
)

__all__ = [
    "IpuDeviceConnectionType",
    "IpuExecutionProfileType",
    "IpuOptions",
    "IpuOptionsCreator",
    "IpuSchedulingAlgorithm",
    "IpuSelectionOrder",
    "StochasticRoundingBehaviour",
    "SyntheticDataCategory",
]
