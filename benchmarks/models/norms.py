"""The norms of the convolutional networks, by name."""

from __future__ import annotations

from torch import nn


def norm_of(kind: str, channels: int, groups: int = 32, epsilon: float = 1e-5) -> nn.Module:
    """A norm over `channels`: batch, group or none."""
    if kind == "batch":
        return nn.BatchNorm2d(channels, eps=epsilon)
    if kind == "group":
        return nn.GroupNorm(groups, channels, eps=epsilon)
    if kind == "none":
        return nn.Identity()
    raise ValueError(f"norm {kind!r}: there are batch, group and none")
