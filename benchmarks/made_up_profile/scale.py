"""How large the made-up system and its program are, and where their ops are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TILES, TILE_BYTES = 1_472, 638_976
CLOCK_HZ = 1.85e9
SUPERSTEPS = 3
RUNS = 2

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Scale:
    """Numbers of IPUs, ops, plans, execution steps (in all runs) and layers."""

    ipus: int = 64
    ops: int = 100_000
    plans: int = 5_000
    steps: int = 500_000
    layers: int = 512

    def ipu_of(self, op: int) -> int:
        """The forward pass goes through the IPUs, the backward pass back."""
        return self.ipu_of_stage(op * 2 * self.ipus // self.ops)

    def ipu_of_stage(self, stage: int) -> int:
        """Stages of the forward pass, then those of the backward pass."""
        return stage if stage < self.ipus else 2 * self.ipus - 1 - stage

    def layer_of(self, op: int) -> int:
        """Layers have the same number of ops."""
        return op * self.layers // self.ops
