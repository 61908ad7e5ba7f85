"""The network of CosmicTagger, in 2D and 3D, in its published sizes."""

from __future__ import annotations

from torch import nn

from cosmictagger.network.configurations import (
    CONFIGURATIONS,
    PARAMETERS,
    ConvMode,
    NetworkConfig,
    configuration,
)
from cosmictagger.network.uresnet2d import UResNet2D
from cosmictagger.network.uresnet3d import UResNet3D

__all__ = [
    "CONFIGURATIONS",
    "PARAMETERS",
    "NetworkConfig",
    "UResNet2D",
    "UResNet3D",
    "build",
    "configuration",
]


def build(config: NetworkConfig, fold_planes: bool = False) -> nn.Module:
    """The network of a configuration, with fresh weights from torch's random state.

    Args:
        config: the shape of the network.
        fold_planes: see UResNet2D; a 3D network has its planes together anyway.
    """
    if config.conv_mode is ConvMode.conv_3D:
        return UResNet3D(config)
    return UResNet2D(config, fold_planes)
