"""Custom ops of public programs that only change how a tensor lies on the tiles: the values stay.

`RemapCE` (GPT-2, Swin, MAE, Conformer) and `CopyTensor` (YOLOv4) come as C++ with these programs. Their attributes
describe the layout and change no number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tremula.frontends.torch.ops.custom import register

DOMAIN = "ai.graphcore"
NAMES = ("RemapCE", "CopyTensor")


def _remap(
    source: torch.Tensor,
    *,
    grain_size: int = 0,
    fwd_grain_size: int = 0,
    bwd_grain_size: int = 0,
    fwd_clone_layout: int = 0,
    bwd_clone_layout: int = 0,
    fwd_after_matmul: int = 0,
    bwd_after_matmul: int = 0,
    debug_str: str = "",
) -> torch.Tensor:
    return source.clone()


def _copy(source: torch.Tensor) -> torch.Tensor:
    return source.clone()


def _gradient(
    gradients: Sequence[torch.Tensor], _inputs: Sequence[torch.Tensor], _attributes: Mapping[str, Any]
) -> list[torch.Tensor | None]:
    return [gradients[0].clone()]


for _name, _forward in zip(NAMES, (_remap, _copy), strict=True):
    register(DOMAIN, _name, _forward, backward=_gradient)
