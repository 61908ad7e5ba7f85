"""One event as it was stored: the pixels above threshold of three planes, and what is known to be true.

A pixel is a wire and a time tick. Its id within a plane is `wire * ticks + tick`, as in the files. The
arrays of the three planes lie one after the other, so that work on an event is work on whole arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Number of wire planes.
PLANES = 3
#: The meaning of the labels 0, 1 and 2.
CLASSES = ("background", "cosmic", "neutrino")
BACKGROUND, COSMIC, NEUTRINO = range(3)

_FLAVOURS = {12: "nu_e", 14: "nu_mu", 16: "nu_tau"}
_CURRENTS = {0: "CC", 1: "NC"}


class EventId(NamedTuple):
    """How an experiment names an event; -1 where it has no name."""

    run: int = -1
    subrun: int = -1
    event: int = -1


@dataclass(frozen=True)
class Truth:
    """The neutrino that was simulated.

    Attributes:
        pdg: its particle number; negative for an antineutrino.
        current_type: 0 for a charged current, 1 for a neutral one, -1 if not recorded.
        energy: its energy in GeV.
        position: where it interacted, (x, y, z) in cm.
    """

    pdg: int
    current_type: int
    energy: float
    position: tuple[float, float, float]

    @property
    def flavour(self) -> str | None:
        """`nu_e`, `nu_mu` or `nu_tau` (antineutrinos too); None if the particle is not a neutrino."""
        return _FLAVOURS.get(abs(self.pdg))

    @property
    def current(self) -> str | None:
        """`CC`, `NC`, or None if not recorded."""
        return _CURRENTS.get(self.current_type)

    @property
    def category(self) -> str | None:
        """What results are grouped by: the flavour, but `NC` for any neutral current."""
        return "NC" if self.current == "NC" else self.flavour


@dataclass(frozen=True, eq=False)
class Event:
    """An event, sparse.

    Attributes:
        shape: pixels of a plane: (wires, ticks).
        ids: int64, the pixels of plane 0, then of plane 1, then of plane 2.
        values: float32, the charge of each pixel.
        labels: uint8, the true class of each pixel; None if not known.
        offsets: int64 [4]; plane p is `offsets[p]:offsets[p + 1]`.
        vertex: float32 [3, 2], the (wire, tick) where the neutrino interacted as each plane sees it, NaN where
            a plane does not; None if not known.
        truth: the neutrino; None if not known.
        event_id: the name of the event.
    """

    shape: tuple[int, int]
    ids: NDArray[np.int64]
    values: NDArray[np.float32]
    labels: NDArray[np.uint8] | None
    offsets: NDArray[np.int64]
    vertex: NDArray[np.float32] | None = None
    truth: Truth | None = None
    event_id: EventId = EventId()

    def plane(self, number: int) -> slice:
        """Where the pixels of a plane are in `ids`, `values` and `labels`."""
        return slice(int(self.offsets[number]), int(self.offsets[number + 1]))

    def wires_and_ticks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The wire and the tick of each pixel."""
        wires = self.ids // self.shape[1]
        return wires, self.ids - wires * self.shape[1]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of stored pixels of each plane."""
        return np.diff(self.offsets)

    @property
    def occupancy(self) -> float:
        """Share of all pixels that are stored."""
        return len(self.ids) / (PLANES * self.shape[0] * self.shape[1])
