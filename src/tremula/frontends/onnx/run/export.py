"""Models with the weights of a session."""

from __future__ import annotations

import os
from collections.abc import Mapping

from torch import Tensor

from tremula.frontends.onnx.arrays import array_of
from tremula.frontends.onnx.build import beside, storing
from tremula.frontends.onnx.build.graph import typed_tensor


def write_model(
    model: bytes | str | os.PathLike[str], weights: Mapping[str, Tensor], path: str | os.PathLike[str]
) -> None:
    """Write a model with these weights in the place of its own: valid, and as a whole or not at all.

    Weights in a file that this process wrote go back to that file, and the state of what trains them with them.
    """
    message = storing.read(model)
    arrays = {name: array_of(tensor) for name, tensor in weights.items()}
    if isinstance(model, bytes):
        beside.check_reachable(message)
    stored = beside.refill(message, arrays)
    kept = {each.name: each for each in message.graph.initializer}
    for name, array in arrays.items():
        if name in stored:
            continue
        own = kept.get(name)
        if own is None:
            own = message.graph.initializer.add()
        own.CopyFrom(typed_tensor(array, name))
    storing.write(message, path)


def moved_weights(model: bytes | str | os.PathLike[str], old: str, new: str) -> bytes:
    """The model with the values that are in one file in another; the file is copied."""
    message = storing.read(model)
    beside.relocate(message, old, new)
    found: bytes = message.SerializeToString()
    return found
