"""A program that can be cut: captured in segments, with the places at which a stage can begin.

A piece is what a split moves as a whole: a segment that can begin a stage, with those after it that cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tremula.program.program import Program
from tremula.program.variant import Cut
from tremula.study.dialect import Dialect


@dataclass(frozen=True)
class Segmented:
    """A program in segments; piece k begins at `cuts[k - 1]`."""

    program: Program
    cuts: tuple[Cut, ...]
    dialect: Dialect = field(repr=False)

    @property
    def pieces(self) -> int:
        return 1 + len(self.cuts)

    @property
    def segments(self) -> int:
        """How many there are, with those that cannot begin a stage."""
        return self.program.forward_stages

    def piece_of_segment(self) -> NDArray[np.int64]:
        """By segment, the piece that it belongs to."""
        begins = np.array([cut.segment for cut in self.cuts], dtype=np.int64)
        return np.searchsorted(begins, np.arange(self.segments), side="right").astype(np.int64)

    def stages(self, begins: Sequence[int]) -> list[int]:
        """By segment, its stage when stages begin with the pieces `begins`, the first stage not among them."""
        at = np.searchsorted(np.asarray(begins, dtype=np.int64), self.piece_of_segment(), side="right")
        return [int(stage) for stage in at]
