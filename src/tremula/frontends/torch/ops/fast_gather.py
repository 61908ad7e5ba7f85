"""`FastGatherLastDim`, the custom op (domain `poptorch.custom_ops`) that PopTorch itself brings. Unlike torch.gather
it takes an index that differs from the data in its last extent only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tremula.errors import Error
from tremula.frontends.torch.ops.custom import register

DOMAIN = "poptorch.custom_ops"
NAME = "FastGatherLastDim"


def fast_gather_last_dim(
    data: torch.Tensor, index: torch.Tensor, *, axis: int = -1, debug_str: str = ""
) -> torch.Tensor:
    """`data` gathered along its last dimension, which `axis` may only confirm; `debug_str` names the op."""
    if axis not in (-1, data.dim() - 1):
        raise Error(
            f"{NAME}: axis is {axis}, but this op gathers along the last dimension ({data.dim() - 1}, or -1) only; "
            "torch.gather takes any.",
            type="popart_exception",
        )
    if data.shape[:-1] != index.shape[:-1]:
        raise Error(
            f"{NAME}: data {tuple(data.shape)} and index {tuple(index.shape)} must agree in all but the last extent; "
            "torch.gather takes other shapes.",
            type="popart_exception",
        )
    return data.gather(-1, index.long())


def _gradient(
    gradients: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], attributes: Mapping[str, Any]
) -> list[torch.Tensor | None]:
    data, index = inputs
    return [torch.zeros_like(data).scatter_add(-1, index.long(), gradients[0]), None]


register(DOMAIN, NAME, fast_gather_last_dim, backward=_gradient)
