"""Synthetic events of a liquid-argon detector, learnable and fast: one event in 3D, seen by three wire planes."""

from cosmictagger.data.generate.constants import Beam, Cosmics, Detector, Particles, Physics, Readout
from cosmictagger.data.generate.events import FULL_SHAPE, Generator, SyntheticEvents, generate

__all__ = [
    "FULL_SHAPE",
    "Beam",
    "Cosmics",
    "Detector",
    "Generator",
    "Particles",
    "Physics",
    "Readout",
    "SyntheticEvents",
    "generate",
]
