"""Configuration of IPUs."""

from tremula.frontends.tensorflow.config.configure import (
    configure_ipu_system,
    get_ipu_config,
    reset_ipu_configuration,
    running_on_ipu_model,
)
from tremula.frontends.tensorflow.config.enums import (
    DeviceConnectionType,
    ExecutionProfileType,
    MergeRemoteBuffersBehaviour,
    SchedulingAlgorithm,
    SelectionOrder,
    StochasticRoundingBehaviour,
)
from tremula.frontends.tensorflow.config.ipu_config import IPUConfig
from tremula.frontends.tensorflow.config.metadata import AttributeMetadata
from tremula.frontends.tensorflow.config.tree import ConfigNode as _ConfigBase
from tremula.frontends.tensorflow.config.tree import deprecate_config_attribute, deprecate_config_attributes

__all__ = [
    "AttributeMetadata",
    "DeviceConnectionType",
    "ExecutionProfileType",
    "IPUConfig",
    "MergeRemoteBuffersBehaviour",
    "SchedulingAlgorithm",
    "SelectionOrder",
    "StochasticRoundingBehaviour",
    "_ConfigBase",
    "configure_ipu_system",
    "deprecate_config_attribute",
    "deprecate_config_attributes",
    "get_ipu_config",
    "reset_ipu_configuration",
    "running_on_ipu_model",
]
