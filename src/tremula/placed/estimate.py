"""The modelled time and memory of a placed program."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from tremula.placed.hardware import PlacedHardware
from tremula.placed.leaves import Leaves
from tremula.placed.memory import MemoryModel, PlacedMemory
from tremula.placed.phases import Leaf, ModelledSet, PhaseKind
from tremula.program.placed import PlacedProgram
from tremula.program.placed_steps import executions


@dataclass(frozen=True)
class Totals:
    """Cycles of some runs. All but the total are means over the tiles; what is left of the total is waiting."""

    total: float = 0.0
    compute: float = 0.0  #: with idle threads
    busy: float = 0.0  #: without
    exchange: float = 0.0  #: within IPUs
    between_ipus: float = 0.0
    host: float = 0.0
    flops: float = 0.0

    @property
    def sync(self) -> float:
        """Waiting for other tiles, for other IPUs and for the host."""
        return max(self.total - self.compute - self.exchange - self.between_ipus - self.host, 0.0)


class PlacedEstimate:
    """What the chip would do with a program. Leaves are modelled when they are first asked for, memory likewise."""

    def __init__(self, program: PlacedProgram, hardware: PlacedHardware) -> None:
        self.program = program
        self.hardware = hardware

    @functools.cached_property
    def _made(self) -> tuple[Leaves, dict[int, Leaf]]:
        maker = Leaves(self.program, self.hardware)
        return maker, maker.all()

    @property
    def leaves(self) -> Mapping[int, Leaf]:
        """The leaves by the number of their node."""
        return self._made[1]

    @property
    def sets(self) -> list[ModelledSet]:
        """Compute sets: those of the program, then those that the model adds."""
        return self._made[0].sets

    @functools.cached_property
    def memory(self) -> PlacedMemory:
        """Bytes on every tile."""
        maker, leaves = self._made
        return MemoryModel(self.program, self.hardware, leaves, maker.sets, maker.library_bytes).find()

    def executions(self, program: int, measured: Mapping[int, int] | None = None) -> dict[int, int]:
        """How often each node runs in a run of one of the programs."""
        return executions(self.program.programs[program], self.program.functions, measured)

    def totals(self, runs: Mapping[int, int]) -> Totals:
        """Cycles of all leaves, each as often as `runs` says."""
        tiles = self.hardware.tiles
        sums = dict.fromkeys(PhaseKind, 0.0)
        total = busy = flops = 0.0
        for node, leaf in self.leaves.items():
            times = runs.get(node, 0)
            if not times:
                continue
            for phase in leaf.phases:
                total += times * phase.cycles
                sums[phase.kind] += times * phase.summed
                busy += times * float(phase.busy.sum())
                flops += times * phase.flops
        return Totals(
            total=total,
            compute=sums[PhaseKind.COMPUTE] / tiles,
            busy=busy / tiles,
            exchange=sums[PhaseKind.EXCHANGE] / tiles,
            between_ipus=sums[PhaseKind.GLOBAL_EXCHANGE] / tiles,
            host=sums[PhaseKind.HOST] / tiles,
            flops=flops,
        )

    def seconds(self, cycles: float) -> float:
        """Cycles as time."""
        return cycles / self.hardware.chip.clock_hz
