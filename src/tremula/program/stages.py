"""The stages of a program over several IPUs, and how many micro-batches a pipeline of them needs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tremula.program.op import Placement


class Mode(Enum):
    """How the stages of a program run; the value is the number that front ends publish."""

    PIPELINED = 0
    SHARDED = 1
    PHASED = 2


def pipeline_stages(forward_stages: int, training: bool) -> int:
    """Stages of the whole pipeline: the last forward stage also starts the backward pass."""
    return 2 * forward_stages - 1 if training else forward_stages


def fewest_micro_batches(forward_stages: int, training: bool) -> int:
    """The fewest micro-batches per update (training) or call (inference) with which the stages can run."""
    return pipeline_stages(forward_stages, training) if forward_stages > 1 else 1


@dataclass(frozen=True)
class StageSummary:
    """The stages that a capture found.

    Attributes:
        mode: how the stages run.
        forward_stages: stages of the forward pass, one more than there were changes of IPU.
        ipus_used: ids of the IPUs that got at least one op, ascending.
        blocks: placements in the order in which they first became active.
        phases: number of forward phases plus the gap before the backward pass (0 unless phased).
        phase_groups: groups of IPUs that phases alternate between (0 unless phased).
    """

    mode: Mode
    forward_stages: int
    ipus_used: tuple[int, ...]
    blocks: tuple[Placement, ...]
    phases: int = 0
    phase_groups: int = 0

    @property
    def ipus_per_replica(self) -> int:
        """IPUs that one replica needs; gaps in the numbering are reserved too."""
        return max(len(self.ipus_used), max(self.ipus_used) + 1) if self.ipus_used else 0

    def pipeline_stages(self, training: bool) -> int:
        """Stages of the whole pipeline."""
        return pipeline_stages(self.forward_stages, training)
