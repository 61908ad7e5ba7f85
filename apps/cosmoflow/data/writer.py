"""Writes samples in the layout that is read: `x` (int16 [N, D, D, D, 4]) and `y` (float32 [N, 4]).

Files are there whole or not at all: written beside their place, flushed to disk and renamed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from tremula.atomic_files import atomic_path

from cosmoflow.data.layout import Parameters, write_parameters
from cosmoflow.data.reader import Sample
from cosmoflow.network import CHANNELS, TARGETS


def write_samples(
    path: str | Path,
    samples: Iterable[Sample],
    count: int,
    *,
    parameters: Parameters | None = None,
    compress: bool = False,
    attributes: Mapping[str, Any] | None = None,
) -> Path:
    """Write samples to one file; they are taken one by one, so memory does not grow with their number.

    Args:
        path: the file.
        samples: counts [D, D, D, 4] and targets [4].
        count: how many there are.
        parameters: names of the targets and their units, kept as attributes.
        compress: with gzip; smaller files, slower reading.
        attributes: further attributes: where the samples come from.

    Raises:
        ValueError: there are fewer or more samples, or they differ in shape; no file is left.
    """
    path = Path(path)
    with atomic_path(path) as draft, h5py.File(draft, "w") as file:
        written = 0
        for counts, targets in samples:
            if written == 0:
                side = len(counts)
                shape = (count, side, side, side, CHANNELS)
                packing = {"compression": "gzip", "compression_opts": 1, "shuffle": True} if compress else {}
                volumes = file.create_dataset("x", shape, "<i2", chunks=(1, *shape[1:]), **packing)
                labels = file.create_dataset("y", (count, TARGETS), "<f4")
            if counts.shape != shape[1:] or counts.dtype != np.int16 or written == count:
                raise ValueError(
                    f"Sample {written} is {counts.dtype} {counts.shape}; {count} samples int16 {shape[1:]} were "
                    "announced."
                )
            volumes[written], labels[written] = counts, targets
            written += 1
        if written != count or not count:
            raise ValueError(
                f"{written} samples came, but {count} were announced (and at least one is needed)."
            )
        if parameters is not None:
            write_parameters(file, parameters)
        for name, value in (attributes or {}).items():
            file.attrs[name] = value
    return path


def write_folder(
    folder: str | Path,
    samples: Iterable[Sample],
    *,
    prefix: str = "universe",
    parameters: Parameters | None = None,
) -> list[Path]:
    """Write each sample to a file of its own, `<prefix>_<number>.hdf5`, as the samples of MLPerf HPC lie."""
    written = []
    for number, (counts, targets) in enumerate(samples):
        path = Path(folder) / f"{prefix}_{number:06d}.hdf5"
        with atomic_path(path) as draft, h5py.File(draft, "w") as file:
            file["x"], file["y"] = counts, targets.astype(np.float32)
            if parameters is not None:
                write_parameters(file, parameters)
        written.append(path)
    return written
