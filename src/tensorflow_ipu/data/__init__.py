"""Datasets for IPUs."""

from . import ops

__all__ = ["ops"]
