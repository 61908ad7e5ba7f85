"""How a graph is to be interpreted, beyond what the file says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch


@dataclass(frozen=True)
class Settings:
    """Plain values; the defaults are those of an inference."""

    #: dropout drops and batch norms use the batch, where the operator's version does not say it itself
    training: bool = False
    #: random ops draw from it; without, from torch's own (in a recording always from torch's own)
    generator: torch.Generator | None = None
    #: in a group norm, channel c belongs to group c % groups, and not to a run of neighbours
    strided_groups: bool = False
    #: where the device reads ONNX in its own way, do as it does: a scan's vectors keep their dimension and its results
    #: are joined, and automatic padding of transposed convolutions begins at the other end
    as_device: bool = False
    #: floating types that tensors have instead of those in the file (a model asked about in another precision)
    retyped: Mapping[torch.dtype, torch.dtype] = field(default_factory=dict)
    #: copies of the graph that run together
    replicas: int = 1
    #: which of them this one is
    replica: int = 0
    #: gives a tensor to all replicas and takes theirs; None where they do not run together
    exchange: Callable[[torch.Tensor], list[torch.Tensor]] | None = None
