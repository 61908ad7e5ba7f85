"""A split that was found: where stages begin, what each IPU gets, and what the chip model says of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch

from tremula.estimate.estimate import Estimate
from tremula.study.split.code_generation import (
    begin_block_lines,
    chart,
    config,
    html,
    options_lines,
    text,
)


@dataclass(frozen=True)
class Begin:
    """A stage after the first: the module whose call begins it, and its IPU."""

    module: str
    ipu: int


@dataclass(frozen=True)
class IpuLoad:
    """One IPU: modelled cycles of all its stages for one micro-batch, and bytes on its fullest tile."""

    ipu: int
    forward: float
    recompute: float
    backward: float
    max_tile_bytes: int
    tile_memory_bytes: int

    @property
    def cycles(self) -> float:
        """All of them."""
        return self.forward + self.recompute + self.backward

    @property
    def memory_share(self) -> float:
        """Of the fullest tile; above 1 it does not fit."""
        return self.max_tile_bytes / self.tile_memory_bytes


@dataclass(frozen=True)
class Split:
    """A model cut into stages, as the chip model judges it."""

    #: the first stage begins with forward, on IPU 0; these follow
    begins: tuple[Begin, ...]
    estimate: Estimate = field(repr=False)
    loads: tuple[IpuLoad, ...]
    #: splits that the full model judged
    evaluations: int
    seconds: float
    #: what limits it
    reason: str

    @property
    def fits(self) -> bool:
        """Whether every tile has room."""
        return self.estimate.memory.fits

    @property
    def throughput(self) -> float:
        """Modelled samples per second of all replicas."""
        return self.estimate.throughput

    @property
    def imbalance(self) -> float:
        """How much more the busiest IPU has to do than the mean one."""
        cycles = [load.cycles for load in self.loads]
        mean = sum(cycles) / len(cycles)
        return max(cycles) / mean - 1.0 if mean else 0.0

    def as_in(self, found: Estimate) -> Split:
        """The same cuts as another estimate has them: with other loops, or more replicas."""
        return replace(self, estimate=found, loads=loads_by_ipu(found))

    def lines(self, module: torch.nn.Module | None = None, name: str = "model") -> list[str]:
        """Lines of Python that put the split on `module`, which the program calls `name`."""
        return begin_block_lines(self, module, name)

    def options_lines(self, name: str = "options") -> list[str]:
        """Lines of Python that set the options which go with it."""
        return options_lines(self, name)

    def config(self) -> dict[str, Any]:
        """The split in plain values, for JSON or TOML."""
        return config(self)

    def chart(self, width: int = 48) -> str:
        """One bar per IPU: forward, recomputed forward and backward, with the fullest tile beside it."""
        return chart(self, width)

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)


def loads_by_ipu(found: Estimate) -> tuple[IpuLoad, ...]:
    """What each IPU of a replica has to do and to hold."""
    memory = {each.ipu: each for each in found.memory.ipus}
    return tuple(
        IpuLoad(
            ipu=ipu,
            forward=sum(s.forward.total for s in found.time.stages if s.ipu == ipu),
            recompute=sum(s.recompute.total for s in found.time.stages if s.ipu == ipu),
            backward=sum(s.backward.total for s in found.time.stages if s.ipu == ipu),
            max_tile_bytes=memory[ipu].max_tile_bytes if ipu in memory else 0,
            tile_memory_bytes=found.memory.tile_memory_bytes,
        )
        for ipu in range(found.deployment.ipus_per_replica)
    )
