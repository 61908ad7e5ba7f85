"""Events of a liquid-argon detector: read, write, generate, load.

Files have the larcv3 layout, read and written with h5py alone. The names here are what programs need; each
module says more.
"""

from cosmictagger.data.dataset import EventDataset, SparseEventDataset, event_loader
from cosmictagger.data.dense import at_voxels, densify, densify_on_device, grid
from cosmictagger.data.events import CLASSES, Event, EventId, Truth
from cosmictagger.data.generate import Generator, SyntheticEvents, generate
from cosmictagger.data.iotest import IoReport, iotest
from cosmictagger.data.layout import BadEventFile
from cosmictagger.data.reader import EventFile, EventFiles
from cosmictagger.data.sampling import split
from cosmictagger.data.writer import EventWriter, PredictionWriter

__all__ = [
    "CLASSES",
    "BadEventFile",
    "Event",
    "EventDataset",
    "EventFile",
    "EventFiles",
    "EventId",
    "EventWriter",
    "Generator",
    "IoReport",
    "PredictionWriter",
    "SparseEventDataset",
    "SyntheticEvents",
    "Truth",
    "at_voxels",
    "densify",
    "densify_on_device",
    "event_loader",
    "generate",
    "grid",
    "iotest",
    "split",
]
