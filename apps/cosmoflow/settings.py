"""The settings: one dataclass for each section, each key with what it means and its default."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import yaml

from cosmoflow.network import VARIANTS, Variant
from tremula.formatting import plain

MODES = ("train", "inference", "throughput", "data-benchmark", "generate")


class ConfigError(ValueError):
    """A setting cannot be used; the text says which, why, and what would do."""

    def __init__(self, text: str) -> None:
        super().__init__(plain(text))


def _key(default: Any, text: str) -> Any:
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata={"help": text})
    return field(default=default, metadata={"help": text})


@dataclass
class Network:
    """The network; what is not given is that of the variant."""

    variant: str = _key("gc64", f"which published size: {', '.join(VARIANTS)}")
    size: int | None = _key(None, "side of the volumes in voxels")
    conv_size: int | None = _key(None, "channels of the first convolution")
    kernel: int | None = _key(None, "side of the kernels")
    layers: int | None = _key(None, "convolutions, each followed by pooling")
    dropout: float | None = _key(None, "share of values dropped behind dense layers while training")


@dataclass
class Data:
    """Where samples come from."""

    source: str = _key(
        "files", "files, generated (made once, then read from files) or dummy (one random sample)"
    )
    train: str | None = _key(None, "file or folder of training samples")
    validation: str | None = _key(None, "file or folder of validation samples")
    test: str | None = _key(None, "file or folder of samples for inference")
    samples: int | None = _key(None, "use at most this many training samples")
    workers: int = _key(0, "processes that read")
    ahead: bool = _key(False, "read in another process while the model computes")
    augment: bool = _key(False, "turn and mirror training volumes at random")
    parameters: list[str] | None = _key(None, "names of the four parameters, if the files do not say them")
    low: list[float] | None = _key(
        None, "physical values that correspond to -1, if the files do not contain them"
    )
    high: list[float] | None = _key(
        None, "physical values that correspond to 1, if the files do not contain them"
    )


@dataclass
class Generate:
    """Generated samples (mode=generate, data.source=generated)."""

    train: int = _key(1024, "training samples")
    validation: int = _key(128, "validation samples")
    test: int = _key(256, "test samples")
    density: float = _key(4.0, "mean count of a voxel")
    folder: str | None = _key(None, "where files go; <output>/data by default")
    threads: int = _key(2, "threads that generate")
    compress: bool = _key(False, "write files with gzip")


@dataclass
class Device:
    """How the model runs on IPUs."""

    batch: int = _key(1, "micro-batch: samples that a replica computes at once")
    replicas: int = _key(1, "replicas of the model; under poprun those of the launcher")
    ipus: int = _key(
        1, "IPUs of each replica: with 2 they form a pipeline, cut before the second convolution"
    )
    accumulation: int = _key(1, "micro-batches whose gradients are added before an update")
    iterations: int = _key(1, "updates in one call: device iterations")
    precision: str = _key("float", "float or half: type of weights and activations")
    loss_scaling: float = _key(1024.0, "factor of the loss in half precision")
    memory_proportion: float | None = _key(
        None, "share of tile memory for temporary data of each op (up to 1)"
    )
    cache: str | None = _key(None, "folder for compiled programs")


@dataclass
class Train:
    """Training."""

    epochs: int = _key(30, "passes over the training samples, at most")
    optimizer: str = _key("sgd", "sgd or adam")
    momentum: float = _key(0.9, "momentum of sgd")
    weight_decay: float = _key(0.0, "L2 penalty")
    rate: float = _key(0.001, "learning rate for a global batch of train.rate_batch")
    rate_batch: int = _key(64, "global batch that the rate is for: it is scaled linearly; 0 for no scaling")
    warmup: float = _key(4.0, "epochs until the rate has its full value")
    decay_epochs: list[float] = _key([], "epochs at which the rate is lowered")
    decay_factors: list[float] = _key([], "share of the full rate from each of these epochs on")
    target: float | None = _key(None, "stop when the mean absolute error in validation is not above this")
    validate_every: float = _key(1.0, "epochs between validations")
    checkpoint_every: int = _key(1, "validations between checkpoints")
    keep: int = _key(3, "checkpoints to keep besides the best one")
    log_every: int = _key(20, "calls between lines of the log")
    resume: bool = _key(
        True, "continue from the newest checkpoint in the output folder; false: replace the checkpoints there"
    )


@dataclass
class Inference:
    """Inference and the report."""

    checkpoint: str | None = _key(None, "checkpoint to use; the best one of the output folder by default")
    batch: int | None = _key(None, "micro-batch; device.batch by default")
    bootstrap: int = _key(1000, "resamplings for uncertainties")
    after_training: bool = _key(True, "report on the test samples at the end of training, if there are any")


@dataclass
class Throughput:
    """Throughput and data benchmark."""

    loops: int = _key(5, "timed calls of the model, or epochs of the data benchmark")
    iterations: int = _key(10, "updates in each call (device iterations)")
    samples: int = _key(256, "samples of each epoch of the data benchmark")


@dataclass
class Config:
    """All settings."""

    mode: str = _key("train", f"what to do: {', '.join(MODES)}")
    output: str = _key("output/cosmoflow", "folder for all that is written")
    seed: int = _key(0, "seed of weights, orders, dropout and generated samples")
    network: Network = field(default_factory=Network)
    data: Data = field(default_factory=Data)
    generate: Generate = field(default_factory=Generate)
    device: Device = field(default_factory=Device)
    train: Train = field(default_factory=Train)
    inference: Inference = field(default_factory=Inference)
    throughput: Throughput = field(default_factory=Throughput)

    @property
    def variant(self) -> Variant:
        """The network that is meant."""
        given = dataclasses.asdict(self.network)
        known = VARIANTS[given.pop("variant")]
        changes = {name: value for name, value in given.items() if value is not None}
        if changes.keys() - {"dropout"}:
            changes["parameters"] = None
        return dataclasses.replace(known, **changes)

    def as_yaml(self) -> str:
        """All settings as a file that can be used again."""
        return yaml.safe_dump(dataclasses.asdict(self), sort_keys=False)
