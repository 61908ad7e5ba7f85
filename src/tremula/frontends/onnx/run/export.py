"""Models with the weights of a session."""

from __future__ import annotations

import os
from collections.abc import Mapping

from torch import Tensor

from tremula.frontends.onnx.arrays import array_of
from tremula.frontends.onnx.build import storing
from tremula.frontends.onnx.build.graph import typed_tensor


def write_model(
    model: bytes | str | os.PathLike[str], weights: Mapping[str, Tensor], path: str | os.PathLike[str]
) -> None:
    """Write a model with these weights in the place of its own: valid, and as a whole or not at all."""
    message = storing.read(model)
    kept = {each.name: each for each in message.graph.initializer}
    for name, tensor in weights.items():
        own = kept.get(name)
        if own is None:
            own = message.graph.initializer.add()
        own.CopyFrom(typed_tensor(array_of(tensor), name))
    storing.write(message, path)
