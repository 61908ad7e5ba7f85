"""HDF5 files of Keras: weights (`.h5`, `.weights.h5`) and whole models (`.h5`), of which only the weights are read.

The description of layers in a whole model, which may hold code, is not looked at. As for samples, only plain numbers
inside the file itself are read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from cosmoflow.data.layout import BadSampleFile, damage, plain_dataset
from cosmoflow.exchange.layers import BadWeights, Place, matched, others
from cosmoflow.network import Variant
from tremula.atomic_files import atomic_path

#: how the files of today's Keras end; other HDF5 files have the older layout, which all of its versions read
NEW = ".weights.h5"
#: groups of a network's file are few and not deep
_MOST_OBJECTS, _MOST_DEPTH = 10_000, 12


def read_keras(path: Path, variant: Variant) -> list[NDArray[Any]]:
    """Kernel and bias of each layer in turn.

    Raises:
        BadWeights: the file is missing, damaged or not of this network.
    """
    if not path.is_file():
        raise BadWeights(path, "", "there is no such file.")
    try:
        with damage(path):
            file = h5py.File(path, "r")
        with file:
            with damage(path):
                names = _datasets(file, path)
            return [_array(file, path, place, name) for place, name in matched(path, names, variant)]
    except BadSampleFile as problem:
        raise BadWeights(path, problem.where, problem.what) from problem


def _array(file: h5py.File, path: Path, place: Place, name: str) -> NDArray[Any]:
    with damage(path, name):
        dataset = plain_dataset(file, path, name)
        if dataset.shape != place.shape or dataset.dtype.kind != "f":
            raise BadSampleFile(
                path,
                name,
                f"has the shape {list(dataset.shape)} and the type {dataset.dtype}; the network needs "
                f"{list(place.shape)} of floats.",
            )
        return np.asarray(dataset[...])


def write_keras(path: Path, arrays: dict[Place, NDArray[Any]], variant: Variant) -> None:
    """Write a file that `load_weights` of the published model takes, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as draft, h5py.File(draft, "w") as file:
        if path.name.endswith(NEW):
            for place, array in arrays.items():
                file[f"layers/{place.layer}/vars/{int(place.bias)}"] = array
            # Keras looks for a group of each layer
            for group in ("vars", *(f"layers/{layer}/vars" for layer in others(variant))):
                file.create_group(group)
            return
        layers = list(dict.fromkeys(place.layer for place in arrays))
        file.attrs["backend"] = b"tensorflow"
        file.attrs["keras_version"] = b"2.2.4-tf"
        file.attrs["layer_names"] = np.array([layer.encode() for layer in layers])
        for layer in layers:
            own = {place: array for place, array in arrays.items() if place.layer == layer}
            group = file.create_group(layer)
            group.attrs["weight_names"] = np.array([f"{place.name}:0".encode() for place in own])
            for place, array in own.items():
                group[f"{place.name}:0"] = array


def _datasets(file: h5py.File, path: Path) -> list[str]:
    """The names of all arrays. Links to elsewhere are none, and nothing is followed twice."""
    found: list[str] = []
    waiting = [("", 0)]
    seen = 0
    while waiting:
        name, depth = waiting.pop()
        for key in sorted(file[name or "/"]):
            seen += 1
            if seen > _MOST_OBJECTS or depth > _MOST_DEPTH:
                raise BadSampleFile(path, name, "has more groups than a file of weights.")
            full = f"{name}/{key}" if name else key
            if not isinstance(file.get(full, getlink=True), h5py.HardLink):
                continue
            kind = file.get(full, getclass=True)
            if kind is h5py.Group:
                waiting.append((full, depth + 1))
            elif kind is h5py.Dataset:
                found.append(full)
    return found
