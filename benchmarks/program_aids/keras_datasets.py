"""Data in place of what `load_data()` of Keras data sets would download.

MNIST is read from the folder that `TREMULA_MNIST` names, as the four files of its authors. Random images and reviews
stand for the other data sets.
"""

from __future__ import annotations

import gzip
import os
import pathlib
from typing import Any

import keras
import numpy as np
import tensorflow as tf

Split = tuple[np.ndarray, np.ndarray]
random = np.random.default_rng(0)


def mnist(*_args: Any, **_kwargs: Any) -> tuple[Split, Split]:
    """The digits."""
    folder = pathlib.Path(os.environ["TREMULA_MNIST"])

    def read(part: str, kind: str, skip: int) -> np.ndarray:
        return np.frombuffer(
            gzip.decompress((folder / f"{part}-{kind}-ubyte.gz").read_bytes()), np.uint8, offset=skip
        )

    def split(part: str) -> Split:
        return read(part, "images-idx3", 16).reshape(-1, 28, 28), read(part, "labels-idx1", 8)

    return split("train"), split("t10k")


def cifar(*_args: Any, **_kwargs: Any) -> tuple[Split, Split]:
    """Random images."""

    def split(count: int) -> Split:
        return random.integers(0, 256, (count, 32, 32, 3), np.uint8), random.integers(
            0, 10, (count, 1), np.uint8
        )

    return split(2048), split(512)


def imdb(num_words: int | None = None, **_kwargs: Any) -> tuple[Split, Split]:
    """Random reviews."""

    def split(count: int) -> Split:
        lengths = random.integers(20, 90, count)
        reviews = [list(random.integers(1, num_words or 20000, length)) for length in lengths]
        return np.array(reviews, dtype=object), random.integers(0, 2, count)

    return split(4096), split(1024)


def replace_downloads() -> None:
    """Let all names of the data sets give this data."""
    for package in (keras.datasets, tf.keras.datasets, keras.src.datasets):
        for name, load in (("mnist", mnist), ("fashion_mnist", mnist), ("cifar10", cifar), ("imdb", imdb)):
            getattr(package, name).load_data = load
