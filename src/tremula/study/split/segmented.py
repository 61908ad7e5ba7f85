"""A program that can be cut: flat, captured in segments, with the places at which a stage can begin.

Segments that no block can begin at belong to the piece before them. A piece is thus what a split moves as a whole;
the first piece begins with the forward pass itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tremula.frontends.torch.capture.segments import Cut, Segments
from tremula.frontends.torch.graphs.program import TorchProgram
from tremula.frontends.torch.rules.program import program_of
from tremula.program.loops import Loops
from tremula.program.program import Program
from tremula.schedule.deployment import Deployment


@dataclass(frozen=True)
class Segmented:
    """A flat program in segments; piece k begins at `cuts[k - 1]`."""

    program: Program
    cuts: tuple[Cut, ...]

    @property
    def pieces(self) -> int:
        """How many there are."""
        return 1 + len(self.cuts)

    @property
    def segments(self) -> int:
        """How many there are, those among them that cannot begin a stage."""
        return self.program.forward_stages

    def piece_of_segment(self) -> NDArray[np.int64]:
        """By segment, the piece that it belongs to."""
        begins = np.array([cut.segment for cut in self.cuts], dtype=np.int64)
        return np.searchsorted(begins, np.arange(self.segments), side="right").astype(np.int64)

    def stages(self, begins: Sequence[int]) -> list[int]:
        """By segment, its stage when stages begin with the pieces `begins`, the first stage not among them."""
        at = np.searchsorted(np.asarray(begins, dtype=np.int64), self.piece_of_segment(), side="right")
        return [int(stage) for stage in at]

    def with_loops(self, loops: Loops) -> Segmented:
        """The same program run so many times."""
        return replace(self, program=replace(self.program, loops=loops))


def segmented(
    program: TorchProgram, segments: Segments, deployment: Deployment, samples: int | None = None
) -> Segmented:
    """`program`, which `segments` placed during its capture, ready to be split.

    Args:
        program: captured inside `segments.following(module)` with `segments` as its placement rule.
        segments: that rule.
        deployment: its precision of partial sums and memory proportions decide about the work.
        samples: samples in a micro-batch; by default the leading extent of the first input.
    """
    return Segmented(program_of(program, deployment.lowering, samples), tuple(segments.cuts(program)))
