"""Normalisations over groups of channels."""

from tremula.frontends.tensorflow.ops.normalization import (
    group_norm,
    instance_norm,
    layer_norm,
)

__all__ = ["group_norm", "instance_norm", "layer_norm"]
