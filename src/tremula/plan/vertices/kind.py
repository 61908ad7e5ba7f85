"""What the planner knows of a vertex: its groups of channels, its types and its cycles on a tile.

Cycles are computed in two steps so that a search is cheap: `field` depends only on the points that a tile
computes, `cycles` adds the loops over kernel positions and groups of channels around it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from tremula.hardware.chip import Chip
from tremula.plan.vertices.arrays import Array, Numbers, ceil_div


class Points(NamedTuple):
    """Output points on a tile: those that need work, as rows, and all of them (for setting to zero)."""

    rows: Array
    width: Array
    total: Array
    #: kernel positions of the innermost dimension, which is never cut
    kernel_width: int
    #: of the outputs, along rows
    stride: int


class Loops(NamedTuple):
    """Loops around the points, per candidate."""

    #: kernel positions of the outermost dimension, and of all others together
    kernel_outer: Numbers
    kernel_inner: Numbers
    conv_groups: Numbers
    in_groups: Numbers
    out_groups: Numbers


@dataclass(frozen=True)
class VertexKind(ABC):
    """A vertex with fixed types and groups of channels on a chip."""

    chip: Chip
    dtype: str
    partials: str
    #: conv groups, input and output channels that the vertex handles at once
    conv_groups: int
    in_channels: int
    out_channels: int

    name = ""
    #: bytes of code, of the order of the assembly sources; popliner's BERT rows give 1.6 kB per matmul in all
    code_bytes = 1200
    source = "PopLibs PerformanceEstimation.hpp"

    @property
    @abstractmethod
    def macs_per_cycle(self) -> float:
        """Multiply-accumulates per cycle that no input can exceed."""

    @abstractmethod
    def field(self, points: Points) -> tuple[Array, ...]:
        """What depends on the points alone."""

    @abstractmethod
    def cycles(self, field: tuple[Array, ...], loops: Loops) -> Array:
        """Cycles of a tile, from `field` (gathered to the candidates) and the loops."""

    def loop_cycles(self, loops: Loops) -> Numbers:
        """Cycles of the loops that come on top of the multiply-accumulates at their peak, at least."""
        return 0.0

    def buffer_bytes(self, partial_bytes: Array, conv_group_grains: Array) -> Numbers:
        """Bytes that the vertex needs besides inputs, weights and partial sums."""
        return 0.0

    @property
    def label(self) -> str:
        """For reports."""
        groups = f"{self.conv_groups} groups x " if self.conv_groups > 1 else ""
        return f"{self.name} ({groups}{self.in_channels} in x {self.out_channels} out)"


def zero_cycles(points: Numbers, out_channels: int, groups: Numbers, workers: int) -> Array:
    """Setting partial sums to zero, as the planner counts it: always two elements per store."""
    share = ceil_div(ceil_div(points * out_channels, workers), 2)
    return (share + 5) * workers * groups
