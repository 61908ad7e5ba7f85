"""TensorBoard: scalars of training (train/) and validation (test/), and event images."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


class Summaries:
    """The TensorBoard files of a run.

    Args:
        folder: the run's folder.
        step: the first step that is still to come; what an earlier run wrote after it is hidden.
    """

    def __init__(self, folder: Path, step: int = 0) -> None:
        # takes a second to import, and runs without summaries need not wait for it
        from torch.utils.tensorboard import SummaryWriter

        self._writers = {
            kind: SummaryWriter(str(folder / kind), purge_step=step or None, flush_secs=30)
            for kind in ("train", "test")
        }

    def scalars(self, kind: str, step: int, values: Mapping[str, float]) -> None:
        """Add scalars under their names."""
        for name, value in values.items():
            if math.isfinite(value):
                self._writers[kind].add_scalar(name, value, step)

    def image(self, kind: str, step: int, name: str, pixels: NDArray[np.uint8]) -> None:
        """Add an image [height, width, 3]."""
        self._writers[kind].add_image(name, pixels, step, dataformats="HWC")

    def close(self) -> None:
        """Finish the files."""
        for writer in self._writers.values():
            writer.close()
