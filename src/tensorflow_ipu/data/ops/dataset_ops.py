"""Datasets for IPUs."""

from tremula.frontends.tensorflow.buffered_dataset import BufferDataset

__all__ = [
    "BufferDataset",
]
