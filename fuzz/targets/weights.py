"""Weights that CosmoFlow reads: HDF5 files of Keras, and the index of a TensorFlow checkpoint beside sound numbers."""

from __future__ import annotations

import dataclasses
import random
import shutil
from pathlib import Path

from cosmoflow.network import VARIANTS, Variant

from fuzz.mutations import flip_bytes
from fuzz.target import Target
from fuzz.targets.science import mutate as mutate_hdf5

_HDF5 = b"\x89HDF"
_NUMBERS = ".data-00000-of-00001"


def make_weights(folder: Path) -> list[Path]:
    """A small network in each layout."""
    import numpy as np
    from cosmoflow.exchange.bundles import write_bundle
    from cosmoflow.exchange.keras_files import write_keras
    from cosmoflow.exchange.layers import places

    variant, generator = _variant(), np.random.default_rng(0)
    arrays = {place: generator.random(place.shape, np.float32) for place in places(variant)}
    files = [folder / name for name in ("old.h5", "new.weights.h5")]
    for path in files:
        write_keras(path, arrays, variant)
    named = {place.name: array for place, array in arrays.items()}
    write_bundle(folder / "model", {**named, "global_step": np.array(3)})
    (folder / f"model{_NUMBERS}").unlink()
    return [*files, folder / "model.index"]


def mutate(data: bytes, rng: random.Random) -> bytes:
    """As for samples; an index also with its checksum made right again, so that its entries are looked at."""
    if data.startswith(_HDF5):
        return mutate_hdf5(data, rng)
    if rng.random() < 0.3:
        return flip_bytes(data, rng)
    from cosmoflow.exchange.tables import read_table, table

    rows = read_table(data)
    for _ in range(rng.choice((1, 1, 3))):
        key = rng.choice(sorted(rows))
        value = rows.pop(key)
        if rng.random() < 0.2:
            key = flip_bytes(key or b"x", rng)
        rows[key] = flip_bytes(value or b"x", rng)
    return table(rows)


def read_weights(path: Path) -> None:
    """All weights, from a file beside the given one whose name says what it is."""
    import numpy as np
    from cosmoflow.exchange import weights
    from cosmoflow.exchange.bundles import write_bundle
    from cosmoflow.exchange.layers import places

    variant = _variant()
    if path.read_bytes().startswith(_HDF5):
        weights.read_weights(Path(shutil.copy(path, f"{path}.h5")), variant)
        return
    if not Path(f"{path}{_NUMBERS}").is_file():
        generator = np.random.default_rng(0)
        arrays = {place.name: generator.random(place.shape, np.float32) for place in places(variant)}
        write_bundle(path, {**arrays, "global_step": np.array(3)})
    shutil.copy(path, f"{path}.index")
    weights.read_weights(path, variant)


def refused() -> tuple[type[BaseException], ...]:
    """The error of files of weights."""
    from cosmoflow.exchange.layers import BadWeights

    return (BadWeights,)


def _variant() -> Variant:
    return dataclasses.replace(VARIANTS["demo"], size=4, conv_size=2, layers=1)


WEIGHTS = Target("weights", make_weights, mutate, read_weights, refused)
