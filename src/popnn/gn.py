"""Group norms: statistics of each example over a group of channels and the field."""

from ._group_norm import gradients as groupNormGradients
from ._group_norm import normalise as groupNormalise
from ._group_norm import param_gradients as groupNormParamGradients
from ._group_norm import param_update as groupNormParamUpdate
from ._group_norm import statistics as groupNormStatistics
from ._group_norm import whiten as groupNormWhiten

__all__ = [
    "groupNormGradients",
    "groupNormParamGradients",
    "groupNormParamUpdate",
    "groupNormStatistics",
    "groupNormWhiten",
    "groupNormalise",
]
