"""Element types on the device, which computes in 32 bits at most."""

from __future__ import annotations

from collections.abc import Mapping

import torch

#: what stands for the types that the device does not have
NARROWED: Mapping[torch.dtype, torch.dtype] = {
    torch.int64: torch.int32,
    torch.uint64: torch.uint32,
    torch.float64: torch.float32,
}
#: floating types in which graphs compute instead of those that they say
RETYPED: Mapping[torch.dtype, torch.dtype] = {torch.float64: torch.float32}


def device_type(dtype: torch.dtype) -> torch.dtype:
    """The type that a tensor has on the device."""
    return NARROWED.get(dtype, dtype)
