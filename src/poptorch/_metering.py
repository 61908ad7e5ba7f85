"""What a wrapped model's calls mean for the counters of the virtual IPUs that it is attached to.

Seconds and bytes are those of the host, measured. Cycles come from the chip model, as soon as it has looked at
the program; they are not modelled for the counters' sake.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch

from . import _impl

if TYPE_CHECKING:
    from tremula.machine.counters import Meter

    from ._executor_compile import CompilingExecutor


class CallMeter:
    """Counts the calls of one executor."""

    def __init__(self, meter: Meter, executor: CompilingExecutor) -> None:
        self._meter = meter
        # weak: an executor that nobody needs any more gives its device back at once
        self._executor = weakref.ref(executor)
        self._label = _impl._wrapping.plain_class(executor._user_model).__name__
        self._cycles = self._seconds = 0.0
        meter.loaded(model=self._label)

    def called(
        self, seconds: float, samples: int, given: Iterable[torch.Tensor], returned: Iterable[torch.Tensor]
    ) -> None:
        """A call took `seconds` and moved these tensors."""
        if not self._cycles:
            self._look()
        self._meter.called(
            seconds,
            samples=samples,
            sent=sum([tensor.nbytes for tensor in given]),
            fetched=sum([tensor.nbytes for tensor in returned]),
            cycles=self._cycles,
            modelled_seconds=self._seconds,
        )

    def _look(self) -> None:
        """Take over what the chip model says, if it has been asked."""
        executor = self._executor()
        modelled = executor._modelled if executor is not None else None
        found = modelled.known if modelled is not None else None
        if modelled is None or found is None:
            return
        self._cycles = float(modelled.cycles_per_call())
        self._seconds = self._cycles / found.chip.clock_hz
        self._meter.loaded(
            model=self._label,
            tile_bytes=found.memory.max_tile_bytes,
            tile_memory_bytes=found.memory.tile_memory_bytes,
        )


def meter_of(executor: CompilingExecutor) -> CallMeter | None:
    """Counts for the device that the executor is attached to; None where it is no virtual IPU."""
    attachment = executor._attachment
    meter = attachment.meter if attachment is not None else None
    return None if meter is None else CallMeter(meter, executor)
