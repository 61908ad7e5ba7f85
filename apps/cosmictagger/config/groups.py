"""The keys of the configuration, group by group, with what they mean and their defaults.

Names are those that users of the original CosmicTagger know. What a group can be is chosen by name
(`mode=train`, `data=synthetic`, `network=a21`), and the choice decides which keys it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cosmictagger.config.keys import key
from cosmictagger.losses import LossBalanceScheme
from cosmictagger.network.configurations import NetworkConfig


class _Numbered(StrEnum):
    """A choice that the original also knows by a number."""

    def __new__(cls, value: str, number: int) -> _Numbered:
        member = str.__new__(cls, value)
        member._value_ = value
        member.number = number  # type: ignore[attr-defined]
        return member


class ComputeMode(_Numbered):
    """What computes."""

    CPU = "CPU", 0
    GPU = "GPU", 1
    IPU = "IPU", 5


class Precision(_Numbered):
    """In which format weights are kept and numbers computed."""

    float32 = "float32", 0
    mixed = "mixed", 1
    bfloat16 = "bfloat16", 2
    float16 = "float16", 3


class OptimizerName(StrEnum):
    """How gradients become updates."""

    adam = "adam"
    rmsprop = "rmsprop"
    sgd = "sgd"


class Schedule(StrEnum):
    """How the learning rate changes."""

    epochs = "epochs"
    one_cycle = "one_cycle"
    constant = "constant"


class Recompute(StrEnum):
    """What is computed again in the backward pass, to save memory on the device."""

    none = "none"
    blocks = "blocks"
    all = "all"


class Loading(StrEnum):
    """How batches come to the model."""

    sync = "sync"
    async_ = "async"


@dataclass
class Run:
    """One run of the program."""

    id: str = key("run", "name of the run; its folder is output_dir/torch/<network>/<id>")
    iterations: int = key(500, "weight updates in all, counted from the very beginning", low=1)
    minibatch_size: int = key(2, "events of one micro-batch, on each replica", low=1)
    aux_iterations: int = key(10, "validate each so many iterations; 0: never", low=0)
    aux_minibatch_size: int | None = key(
        None, "events of a validation micro-batch; empty: minibatch_size", low=1
    )
    aux_batches: int = key(
        1, "batches of each validation, on each process; 0: all validation events once", low=0
    )
    compute_mode: ComputeMode = key(ComputeMode.IPU, "CPU (plain torch), GPU (plain torch) or IPU (poptorch)")
    precision: Precision = key(
        Precision.float32,
        "float32; float16: weights and arithmetic half, with loss scaling (IPU); mixed: float32 weights, "
        "arithmetic half; bfloat16: float32 weights, arithmetic bfloat16 (CPU, GPU)",
    )
    distributed: bool = key(
        True,
        "under poprun: one model trained by all instances. Without poprun there is one process either way",
    )
    seed: int = key(
        0, "of initial weights, order of events and the device's random numbers", low=0, high=2**31 - 1
    )
    resume: bool = key(True, "continue from the newest checkpoint of this run.id, if there is one")
    deterministic: bool = key(
        True, "the same bits every time; False lets the host choose faster forms as it runs"
    )
    replicas: int = key(1, "copies of the model on the IPUs of one process; poprun decides for itself", low=1)
    ipus: int = key(
        1, "IPUs of each replica: the network is split into as many pipeline stages (1, 2 or 4)", low=1
    )
    device_iterations: int = key(1, "weight updates of each call of the model (IPU)", low=1)
    recompute: Recompute = key(
        Recompute.none, "computed again in the backward pass: nothing, what is inside blocks, or all (IPU)"
    )
    off_chip_optimizer: bool = key(False, "keep the optimizer's state in streaming memory (IPU)")
    stochastic_rounding: bool = key(False, "round weight updates in half precision at random (IPU, float16)")
    fold_planes: bool | None = key(
        None, "planes as images of one batch; the numbers are the same. Empty: IPU only"
    )
    executable_cache: str = key("", "folder in which compiled programs are kept (IPU)")
    profile: bool = key(False, "write an execution profile, modelled, to the run's folder profiles/ (IPU)")
    progress: bool | None = key(None, "progress bar; empty: on a terminal, and not under poprun")


@dataclass
class Optimizer:
    """How the network learns."""

    name: OptimizerName = key(OptimizerName.adam, "adam, rmsprop or sgd")
    learning_rate: float = key(3e-4, "its greatest value", low=1e-12, high=1e3)
    loss_balance_scheme: LossBalanceScheme = key(
        LossBalanceScheme.focal, "how pixels are weighed in the loss"
    )
    gradient_accumulation: int = key(1, "micro-batches of each weight update, on each replica", low=1)
    schedule: Schedule = key(
        Schedule.epochs,
        "epochs: warm-up, flat, decay, counted in epochs of all replicas; one_cycle: warm-up for a tenth of "
        "run.iterations, then down along a cosine; constant",
    )
    warmup_epochs: float = key(1.0, "epochs in which the rate grows from 1e-5 (schedule=epochs)", low=0)
    flat_epochs: float = key(
        20.0, "epochs at the learning rate, before it decays to 1e-4 (schedule=epochs)", low=0
    )
    weight_decay: float = key(0.0, "L2 penalty", low=0)
    momentum: float = key(0.9, "of sgd", low=0, high=0.9999)
    loss_scaling: float | None = key(
        None,
        "factor on the loss that keeps half gradients in range; empty: 128 if anything is half, else 1",
        low=1,
    )


@dataclass
class TrainMode:
    """Train, validating on the way."""

    name: str = key("train", "train")
    checkpoint_iteration: int = key(
        500, "write a checkpoint each so many iterations; 0: only at the end", low=0
    )
    keep_checkpoints: int = key(5, "how many of the newest checkpoints stay, besides the best", low=1)
    logging_iteration: int = key(1, "log each so many iterations; 0: never", low=0)
    summary_iteration: int = key(
        1, "write to TensorBoard and the tables each so many iterations; 0: never", low=0
    )
    no_summary_images: bool = key(False, "no event images in TensorBoard")
    summary_image_iteration: int = key(
        100, "an event image at the first validation after so many iterations", low=1
    )
    weights_location: str = key("", "checkpoint (ours or the original's) whose weights a new run starts from")
    optimizer: Optimizer = key(Optimizer, "how the network learns")


@dataclass
class InferenceMode:
    """Run over all events, report metrics, write predictions."""

    name: str = key("inference", "inference")
    weights_location: str = key("", "checkpoint to take; empty: the best of this run, else its newest")
    events: int = key(0, "how many events; 0: all", low=0)
    predictions: bool = key(True, "write predictions.h5: the class of each stored pixel")
    probabilities: bool = key(False, "write the probabilities of the classes too")
    bootstrap: int = key(1000, "resamplings of events behind the uncertainties", low=0, high=100_000)
    loss_balance_scheme: LossBalanceScheme = key(LossBalanceScheme.focal, "loss that is reported")
    logging_iteration: int = key(1, "log each so many batches; 0: never", low=0)
    gallery: int = key(12, "events of the gallery, the worst first; 0: no gallery", low=0, high=500)


@dataclass
class IoTestMode:
    """How fast events are read."""

    name: str = key("iotest", "iotest")


@dataclass
class DisplayMode:
    """Draw events, with predictions if the run has weights: PNG files and a gallery."""

    name: str = key("display", "display")
    weights_location: str = key(
        "", "checkpoint to take; empty: the best of this run, else its newest, else none"
    )
    events: tuple[int, ...] = key((), "numbers of the events to draw, such as 0,3,7; empty: the worst", low=0)
    worst: int = key(8, "without events: how many of the worst to draw", low=1, high=500)
    search: int = key(64, "without events: how many events to look at for the worst; 0: all", low=0)
    zoom: int = key(256, "side of the square around the vertex, in wires and ticks", low=16)
    dpi: int = key(110, "resolution of the PNG files", low=40, high=400)


@dataclass
class RealData:
    """Events from files of the larcv3 layout."""

    name: str = key("real", "real")
    data_directory: str = key("", "folder of the files")
    file: str = key("cosmic_tagging_train.h5", "training events; several files: names with commas")
    aux_file: str = key("cosmic_tagging_val.h5", "validation events; empty: a part of `file` is held out")
    held_out: float = key(
        0.2,
        "part of `file` that is kept for validation if there is no aux_file. Inference and display take validation "
        "events; for all events of a file: data.aux_file= data.held_out=0",
        low=0.0,
        high=0.9,
    )
    downsample: int = key(1, "how often both sides of the images are halved", low=0, high=8)
    img_transform: bool = key(False, "log(charge + 1) in place of the charge")
    workers: int = key(0, "processes that read", low=0, high=256)
    loading: Loading = key(
        Loading.sync, "sync, or async: the next batch is made while the device computes (IPU)"
    )


@dataclass
class SyntheticData:
    """Generated events: cosmic muons and a neutrino in a liquid-argon detector."""

    name: str = key("synthetic", "synthetic")
    events: int = key(1024, "training events", low=1)
    aux_events: int = key(128, "validation events; training never sees them", low=1)
    seed: int = key(0, "which events", low=0)
    wires: int = key(2048, "wires of a plane", low=16, high=8192)
    ticks: int = key(1280, "time ticks of a plane", low=16, high=8192)
    cosmics: int | None = key(None, "muons of each event; empty: drawn", low=0, high=100)
    downsample: int = key(1, "how often both sides of the images are halved", low=0, high=8)
    img_transform: bool = key(False, "log(charge + 1) in place of the charge")
    workers: int = key(0, "processes that make them", low=0, high=256)
    loading: Loading = key(
        Loading.sync, "sync, or async: the next batch is made while the device computes (IPU)"
    )


@dataclass
class Config:
    """All of it."""

    run: Run
    mode: TrainMode | InferenceMode | IoTestMode | DisplayMode
    data: RealData | SyntheticData
    network: NetworkConfig
    framework: str = "torch"
    output_dir: str = "output"


#: groups that are chosen by name, and what they can be
MODES = {"train": TrainMode, "inference": InferenceMode, "iotest": IoTestMode, "display": DisplayMode}
DATA = {"real": RealData, "synthetic": SyntheticData}

#: keys of the original that mean nothing here, and why
NOT_HERE = {
    "data.data_format": "images are channels first here, always",
    "data.synthetic": "write data=synthetic or data=real",
    "network.data_format": "images are channels first here, always",
    "network.weight_decay": "the original never used it; mode.optimizer.weight_decay is honoured here",
    "mode.quantization_aware": "there is no quantised training here",
    "framework.distributed_mode": "poprun starts the processes, which train one model with popdist",
    "framework.sparse": "there are no sparse convolutions here",
}

NETWORK_MEANINGS = {
    "bias": "convolutions have a bias",
    "normalization": "what follows each convolution: batch or none",
    "n_initial_filters": "filters at full resolution",
    "blocks_per_layer": "blocks of each level, on the way down and again on the way up",
    "blocks_deepest_layer": "blocks at the lowest resolution",
    "blocks_final": "blocks at full resolution before the logits",
    "depth": "how often the image is halved",
    "filter_size_deepest": "width of the deepest blocks' filters; odd",
    "bottleneck_deepest": "filters of the deepest blocks",
    "residual": "blocks are pairs of convolutions with a bypass",
    "block_concat": "keep the planes apart in the deepest blocks too (the original's name says the opposite)",
    "connections": "how the way up meets the way down: concat, sum or none",
    "growth_rate": "filters from level to level: additive or multiplicative",
    "downsampling": "how a level halves its image: max_pooling or convolutional",
    "upsampling": "how a level doubles its image: interpolation or convolutional",
    "conv_mode": "conv_2D or conv_3D",
}
