"""Datasets for IPUs."""

from . import dataset_ops

__all__ = ["dataset_ops"]
