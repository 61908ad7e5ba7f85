"""The published sizes of the network, and what a size is made of.

Field names and values are those of the original's configuration, so that its files and overrides can be read.
`CONFIGURATIONS` has the published ones, with the number of parameters that each must have in `PARAMETERS`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

#: wire planes of the detector, and classes of a pixel: background, cosmic, neutrino
PLANES = 3
CLASSES = 3


class Connection(StrEnum):
    """How the way up meets the way down at each level."""

    concat = "concat"
    sum = "sum"
    none = "none"


class GrowthRate(StrEnum):
    """Filters of the next level: as many more each time, or twice as many."""

    multiplicative = "multiplicative"
    additive = "additive"


class DownSampling(StrEnum):
    """How a level halves its image."""

    convolutional = "convolutional"
    max_pooling = "max_pooling"


class UpSampling(StrEnum):
    """How a level doubles its image."""

    convolutional = "convolutional"
    interpolation = "interpolation"


class ConvMode(StrEnum):
    """Three images that share weights, or one volume of depth three."""

    conv_2D = "conv_2D"  # noqa: N815 - the original's names
    conv_3D = "conv_3D"  # noqa: N815


class Norm(StrEnum):
    """What follows each convolution. The original lists `layer` too but refuses it."""

    none = "none"
    batch = "batch"


_ENUMS = {
    "normalization": Norm,
    "connections": Connection,
    "growth_rate": GrowthRate,
    "downsampling": DownSampling,
    "upsampling": UpSampling,
    "conv_mode": ConvMode,
}
_SMALLEST = {
    "n_initial_filters": 1,
    "blocks_per_layer": 0,
    "blocks_deepest_layer": 0,
    "blocks_final": 0,
    "depth": 0,
    "filter_size_deepest": 1,
    "bottleneck_deepest": 1,
}


@dataclass(frozen=True)
class NetworkConfig:
    """Everything that decides the shape of a network.

    Attributes:
        name: what the configuration is called.
        bias: convolutions have a bias.
        normalization: what follows each convolution.
        n_initial_filters: filters at full resolution.
        blocks_per_layer: blocks of each level, on the way down and again on the way up.
        blocks_deepest_layer: blocks at the lowest resolution.
        blocks_final: blocks at full resolution before the logits.
        depth: how often the image is halved.
        filter_size_deepest: width of the deepest blocks' filters; odd.
        bottleneck_deepest: filters of the deepest blocks.
        residual: blocks are pairs of convolutions with a bypass.
        block_concat: keep the planes apart in the deepest blocks too. The name is the original's and says the
            opposite; 2D only.
        connections: how the way up meets the way down.
        growth_rate: how filters grow from level to level.
        downsampling: how a level halves its image.
        upsampling: how a level doubles its image.
        conv_mode: 2D or 3D.
    """

    name: str = "uresnet"
    bias: bool = True
    normalization: Norm = Norm.batch
    n_initial_filters: int = 16
    blocks_per_layer: int = 2
    blocks_deepest_layer: int = 5
    blocks_final: int = 5
    depth: int = 6
    filter_size_deepest: int = 5
    bottleneck_deepest: int = 256
    residual: bool = True
    block_concat: bool = False
    connections: Connection = Connection.concat
    growth_rate: GrowthRate = GrowthRate.additive
    downsampling: DownSampling = DownSampling.max_pooling
    upsampling: UpSampling = UpSampling.interpolation
    conv_mode: ConvMode = ConvMode.conv_2D

    def __post_init__(self) -> None:
        """Turn names into members and refuse what cannot be built.

        Raises:
            ValueError: a field has a value that no network can have.
        """
        for field, kind in _ENUMS.items():
            value = getattr(self, field)
            try:
                object.__setattr__(self, field, kind(value))
            except ValueError:
                allowed = ", ".join(kind)
                hint = " The original refuses layer normalisation as well." if value == "layer" else ""
                raise ValueError(f"network.{field}={value!r} is none of {allowed}.{hint}") from None
        for field, smallest in _SMALLEST.items():
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, int) or value < smallest:
                raise ValueError(f"network.{field}={value!r} must be a whole number, at least {smallest}.")
        if self.filter_size_deepest % 2 == 0:
            raise ValueError(
                f"network.filter_size_deepest={self.filter_size_deepest} must be odd: an even filter would "
                "change the size of the image."
            )
        if self.block_concat and self.conv_mode is ConvMode.conv_3D:
            raise ValueError("network.block_concat is for 2D networks; a 3D network always mixes its planes.")

    def filters(self, level: int) -> int:
        """Filters at a level; 0 is full resolution, `depth` the lowest."""
        if self.growth_rate is GrowthRate.multiplicative:
            return self.n_initial_filters * 2**level
        return self.n_initial_filters * (level + 1)

    def check_image(self, height: int, width: int) -> None:
        """Refuse images that cannot be halved `depth` times.

        Raises:
            ValueError: a side is not a multiple of two to the power of `depth`.
        """
        step = 2**self.depth
        if height % step or width % step or height < step or width < step:
            raise ValueError(
                f"images of {height} x {width} pixels cannot be halved {self.depth} times: both sides must be "
                f"multiples of {step}. Take a smaller network.depth or less downsampling of the data."
            )

    def to_plain(self) -> dict[str, Any]:
        """All fields as plain values, for JSON and YAML."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: str(value) if isinstance(value, StrEnum) else value for name, value in values.items()}


_BASE = NetworkConfig()

#: by name. `a21` is that of the IPU port, whose logs are published; `a21_2024` the one of today. `demo` is ours:
#: it learns to tell the classes apart within minutes on a laptop, from images downsampled three times.
CONFIGURATIONS: dict[str, NetworkConfig] = {
    config.name: config
    for config in (
        _BASE,
        replace(_BASE, name="a21", n_initial_filters=8, residual=False),
        replace(
            _BASE,
            name="a21_2024",
            n_initial_filters=8,
            residual=False,
            blocks_final=0,
            connections=Connection.sum,
        ),
        replace(
            _BASE,
            name="polaris",
            blocks_deepest_layer=2,
            blocks_final=2,
            depth=7,
            bottleneck_deepest=96,
            residual=False,
            connections=Connection.sum,
        ),
        replace(_BASE, name="scc21", normalization=Norm.none),
        replace(_BASE, name="uresnet3d", conv_mode=ConvMode.conv_3D),
        replace(
            _BASE,
            name="demo",
            n_initial_filters=8,
            residual=False,
            depth=4,
            blocks_per_layer=1,
            blocks_deepest_layer=2,
            blocks_final=1,
            filter_size_deepest=3,
            bottleneck_deepest=64,
            connections=Connection.sum,
        ),
    )
}

#: trainable numbers of each, as published or, for the last two, as counted
PARAMETERS: dict[str, int] = {
    "uresnet": 18_382_131,
    "a21": 8_525_699,
    "a21_2024": 8_510_547,
    "polaris": 1_926_403,
    "scc21": 18_367_891,
    "uresnet3d": 18_381_459,
    "demo": 131_611,
}


def configuration(name: str, **overrides: Any) -> NetworkConfig:
    """The configuration called `name`, with some fields changed.

    Raises:
        ValueError: there is no such configuration or field, or a value is refused.
    """
    if name not in CONFIGURATIONS:
        raise ValueError(f"unknown network {name!r}; the networks are {', '.join(CONFIGURATIONS)}.")
    known = {field.name for field in fields(NetworkConfig)}
    unknown = sorted(set(overrides) - known)
    if unknown:
        raise ValueError(f"a network has no {', '.join(unknown)}; it has {', '.join(sorted(known))}.")
    return replace(CONFIGURATIONS[name], **overrides)
