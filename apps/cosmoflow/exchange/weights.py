"""Weights between files of TensorFlow or Keras and the network.

Axes differ: kernels of convolutions are [depth, height, width, in, out] there and [out, in, depth, height, width] here,
those of dense layers [in, out] and [out, in]. Volumes are flattened with channels last in both, so that the first dense
layer needs no other order.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from cosmoflow import checkpoints
from cosmoflow.exchange.bundles import Bundle, is_checkpoint, write_bundle
from cosmoflow.exchange.keras_files import read_keras, write_keras
from cosmoflow.exchange.layers import BadWeights, matched, places
from cosmoflow.network import CosmoFlow, Variant
from tremula.atomic_files import atomic_path

_HDF5 = (".h5", ".hdf5")


def read_weights(path: Path, variant: Variant) -> list[NDArray[Any]]:
    """Kernel and bias of each layer in turn, in TensorFlow's order of axes and float32.

    Args:
        path: an HDF5 file of Keras; or a checkpoint of TensorFlow, its index or the folder that it is in.
        variant: the size of the network.

    Raises:
        BadWeights: they cannot be read, are not finite or not of this network.
    """
    if is_checkpoint(path):
        bundle = Bundle(path)
        pairs = matched(bundle.prefix, bundle.entries, variant)
        arrays = [bundle.read(name, place.shape).reshape(place.shape) for place, name in pairs]
    elif path.suffix in _HDF5:
        arrays = read_keras(path, variant)
    else:
        raise BadWeights(
            path,
            "",
            "is neither a file of Keras (.h5) nor a checkpoint of TensorFlow (there is no such name with .index).",
        )
    with np.errstate(over="ignore"):
        single = [np.array(array, np.float32, order="C") for array in arrays]
    for place, array in zip(places(variant), single, strict=True):
        if not np.isfinite(array).all():
            raise BadWeights(path, place.name, "has values that are not finite in float32.")
    return single


def import_weights(source: Path, target: Path, variant: Variant) -> int:
    """Make a checkpoint of ours from weights of TensorFlow or Keras; the number of its weights.

    Raises:
        BadWeights: the weights cannot be used.
    """
    network = CosmoFlow(variant)
    network.load_keras(read_weights(source, variant))
    state = {
        "format": checkpoints.FORMAT,
        "network": network.state_dict(),
        "optimizer": {},
        "random": [],
        "epoch": 0,
        "done": 0,
        "step": 0,
        "best": float("inf"),
        "history": [],
        "variant": dataclasses.asdict(variant),
    }
    with atomic_path(target) as draft:
        torch.save(state, draft)
    return sum(parameter.numel() for parameter in network.parameters())


def export_weights(source: Path, target: Path) -> int:
    """Write the weights of a checkpoint of ours for Keras (`.h5`) or TensorFlow (any other name); their number.

    Raises:
        BadCheckpoint: the checkpoint cannot be used.
    """
    state = checkpoints.load(source)
    network = _network(source, state)
    arrays = {}
    layers = [*network.convolutions, *network.dense]
    for i, place in enumerate(places(network.variant)):
        layer = layers[i // 2]
        values = (layer.bias if place.bias else layer.weight).detach().float().numpy()
        arrays[place] = values if place.bias else np.moveaxis(values, (0, 1), (-1, -2))
    if target.suffix in _HDF5:
        write_keras(target, arrays, network.variant)
    else:
        named: dict[str, NDArray[Any]] = {place.name: array for place, array in arrays.items()}
        write_bundle(target, {**named, "global_step": np.array(state["step"], np.int64)})
    return sum(array.size for array in arrays.values())


def _network(path: Path, state: dict[str, Any]) -> CosmoFlow:
    fields = {field.name: field for field in dataclasses.fields(Variant)}
    given = state["variant"]
    try:
        if not set(given) <= set(fields):
            raise TypeError("its variant has entries that are not known here")
        variant = Variant(**given)
        with torch.device("meta"):
            network = CosmoFlow(variant)
        # nothing of the size that the file claims is made; its own tensors become the weights
        network.load_state_dict(state["network"], assign=True)
    except (TypeError, ValueError, RuntimeError, AttributeError, OverflowError) as problem:
        raise checkpoints.BadCheckpoint(
            f"{path}: its weights are not those of its network: {problem}"
        ) from problem
    return network
