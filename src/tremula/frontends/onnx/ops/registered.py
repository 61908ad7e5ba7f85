"""Operators whose Python implementations programs register."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from tremula.frontends.onnx.call import Call
from tremula.frontends.torch.ops.custom import call as call_registered
from tremula.frontends.torch.ops.custom import encode_attributes


def compute(call: Call, *inputs: torch.Tensor) -> Sequence[torch.Tensor]:
    """What the registered implementation makes of the inputs; placement attributes are not its."""
    attributes = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in call.node.attributes.items()
        if not name.startswith("__")
    }
    return call_registered(list(inputs), call.node.domain, call.node.type, encode_attributes(attributes))
