"""A split that was found: where stages begin, what each IPU gets, and what the chip model says of it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from tremula.estimate.estimate import Estimate
from tremula.program.stages import pipeline_stages
from tremula.program.variant import StageStart
from tremula.study.dialect import Dialect
from tremula.study.split import report


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
    begins: tuple[StageStart, ...]
    estimate: Estimate = field(repr=False)
    loads: tuple[IpuLoad, ...]
    #: splits that the full model judged
    evaluations: int
    seconds: float
    #: what limits it
    reason: str
    dialect: Dialect = field(repr=False)

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
        return dataclasses.replace(self, estimate=found, loads=loads_by_ipu(found))

    def lines(self, name: str = "model", *, replace: bool = False) -> tuple[str, ...]:
        """Lines of code that cut the model, which the program calls `name`."""
        return self.dialect.stages(self.begins, name=name, replace=replace)

    def options_lines(self, name: str = "options") -> tuple[str, ...]:
        """Lines of code for the settings that go with the cuts, with the micro-batches that were modelled."""
        if not self.begins:
            return ()
        found = self.estimate
        loops = found.loops
        return self.dialect.pipeline(
            found.deployment.ipus_per_replica * loops.replicas,
            found.training,
            loops.gradient_accumulation if found.training else loops.device_iterations,
            pipeline_stages(1 + len(self.begins), found.training),
            name=name,
        )

    def config(self) -> dict[str, Any]:
        """The split in plain values, for JSON or TOML."""
        return report.config(self)

    def chart(self, width: int = 48) -> str:
        """One bar per IPU: forward, recomputed forward and backward, with the fullest tile beside it."""
        return report.chart(self, width)

    def __str__(self) -> str:
        return report.text(self)

    def _repr_html_(self) -> str:
        return report.html(self)


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
