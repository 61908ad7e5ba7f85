"""TensorBoard: scalars of training (train/) and validation (test/), and event images."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tremula.atomic_files import cannot_write


class Summaries:
    """The TensorBoard files of a run.

    Args:
        folder: the run's folder.
        step: the first step that is still to come; what an earlier run wrote after it is hidden.
    """

    def __init__(self, folder: Path, step: int = 0) -> None:
        # takes a second to import, and runs without summaries need not wait for it
        from torch.utils.tensorboard import SummaryWriter

        self._folder = folder
        self._told = False
        self._writers = {
            kind: SummaryWriter(str(folder / kind), purge_step=step or None, flush_secs=30)
            for kind in ("train", "test")
        }

    def scalars(self, kind: str, step: int, values: Mapping[str, float]) -> None:
        """Add scalars under their names."""
        with self._going_on():
            for name, value in values.items():
                if math.isfinite(value):
                    self._writers[kind].add_scalar(name, value, step)

    def image(self, kind: str, step: int, name: str, pixels: NDArray[np.uint8]) -> None:
        """Add an image [height, width, 3]."""
        with self._going_on():
            self._writers[kind].add_image(name, pixels, step, dataformats="HWC")

    def close(self) -> None:
        """Finish the files."""
        for writer in self._writers.values():
            with self._going_on():
                writer.close()

    @contextlib.contextmanager
    def _going_on(self) -> Iterator[None]:
        """A run does not end for its summaries: one line says that they end here."""
        try:
            yield
        except OSError as problem:
            if not self._told:
                print(f"cosmictagger: TensorBoard's {cannot_write(self._folder, problem)}", file=sys.stderr)
            self._told = True
