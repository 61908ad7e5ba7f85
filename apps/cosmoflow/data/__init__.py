"""Cubes of particle counts with the parameters behind them: reading, writing, generating, feeding to a model."""

from cosmoflow.data.dataset import VolumeDataset, VolumeSampler, sample_loader
from cosmoflow.data.generate import GeneratedSamples
from cosmoflow.data.layout import BadSampleFile
from cosmoflow.data.reader import SampleFiles
from cosmoflow.data.writer import write_folder, write_samples

__all__ = [
    "BadSampleFile",
    "GeneratedSamples",
    "SampleFiles",
    "VolumeDataset",
    "VolumeSampler",
    "sample_loader",
    "write_folder",
    "write_samples",
]
