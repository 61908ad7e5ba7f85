"""Datasets for tests."""

from tremula.frontends.tensorflow.testing.datasets import (
    create_dual_increasing_dataset,
    create_multi_increasing_dataset,
    create_single_increasing_dataset,
)

__all__ = [
    "create_dual_increasing_dataset",
    "create_multi_increasing_dataset",
    "create_single_increasing_dataset",
]
