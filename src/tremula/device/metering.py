"""What a program's calls add to the counters of its virtual IPUs: measured seconds and bytes of the host, and modelled
cycles once the chip model has looked at the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from tremula.machine.counters import Meter

if TYPE_CHECKING:
    from tremula.device.chip_model import ModelledRun


class Array(Protocol):
    """An array of any framework."""

    @property
    def shape(self) -> Sequence[int]:
        """Its extents."""

    @property
    def nbytes(self) -> int:
        """Its size in memory."""


class CallMeter:
    """Counts the calls of one program on one device."""

    def __init__(self, meter: Meter, label: str) -> None:
        self._meter = meter
        self._label = label
        self._cycles = self._seconds = 0.0
        meter.loaded(model=label)

    def called(
        self,
        seconds: float,
        samples: int,
        given: Iterable[Array],
        returned: Iterable[Array],
        modelled: ModelledRun | None,
    ) -> None:
        """A call took `seconds` and moved these arrays."""
        if not self._cycles and modelled is not None:
            self._look(modelled)
        self._meter.called(
            seconds,
            samples=samples,
            sent=sum([array.nbytes for array in given]),
            fetched=sum([array.nbytes for array in returned]),
            cycles=self._cycles,
            modelled_seconds=self._seconds,
        )

    def _look(self, modelled: ModelledRun) -> None:
        """Take over the chip model's figures, if they have been made."""
        found = modelled.known
        if found is None:
            return
        self._cycles = float(modelled.cycles_per_call())
        self._seconds = self._cycles / found.chip.clock_hz
        self._meter.loaded(
            model=self._label,
            tile_bytes=found.memory.max_tile_bytes,
            tile_memory_bytes=found.memory.tile_memory_bytes,
        )
