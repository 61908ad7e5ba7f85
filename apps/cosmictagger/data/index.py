"""Where the events of a file are: blocks of checked index rows, read when they are first needed.

The tables of the layout point at each other by row numbers. Everything read from them is checked here, before
it is used: a broken file gives an error that names the event, never wrong data or a huge allocation. Only
a bounded number of blocks is kept, so memory does not grow with the file.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from cosmictagger.data.events import PLANES, Truth
from cosmictagger.data.layout import MOST_PIXELS, BadEventFile

BLOCK = 256
#: Blocks that are kept: the index of a quarter of a million events, some 30 MB. More are read again.
KEPT_BLOCKS = 1024
#: What is kept of an event's neutrino.
_NEUTRINO = np.dtype(
    [("known", "?"), ("pdg", "<i4"), ("current_type", "<i2"), ("energy", "<f8"), ("position", "<f8", (3,))]
)
#: Rows of one event in a table of particles or clusters; more is refused.
_MOST_PARTICLES = 1024
#: The true vertex is a square of 3 x 3 pixels.
_VERTEX_PIXELS = 9


class Blocks:
    """A bounded cache of what `make(first, last)` returns for blocks of `BLOCK` events."""

    def __init__(self, events: int, make: Callable[[int, int], Any]) -> None:
        self._events, self._make = events, make
        self._kept: OrderedDict[int, Any] = OrderedDict()

    def of(self, event: int) -> tuple[Any, int]:
        """The block with this event, and the event's number in it."""
        number, within = divmod(event, BLOCK)
        block = self._kept.get(number)
        if block is None:
            first = number * BLOCK
            block = self._make(first, min(first + BLOCK, self._events))
            self._kept[number] = block
            while len(self._kept) > KEPT_BLOCKS:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(number)
        return block, within


@dataclass(frozen=True)
class PlaneRows:
    """For a block of events: the voxels of each plane, as first row and number of rows ([events, 3])."""

    first: NDArray[np.int64]
    count: NDArray[np.uint32]


@dataclass(frozen=True)
class Group:
    """The tables of one group, and how to name them in errors."""

    path: Path
    name: str
    tables: dict[str, h5py.Dataset]

    def fail(self, table: str, what: str, event: int | None = None) -> BadEventFile:
        return BadEventFile(self.path, f"{self.name}/{table}" if table else self.name, what, event)

    def read(self, table: str, first: int, last: int, event: int | None = None) -> NDArray[Any]:
        """Rows of a table; a read that fails says where."""
        try:
            rows: NDArray[Any] = self.tables[table][first:last]
        except (OSError, RuntimeError, ValueError) as error:
            raise self.fail(table, f"rows {first} to {last - 1} cannot be read ({error}).", event) from error
        return rows

    def rows(
        self, table: str, firsts: NDArray[Any], counts: NDArray[Any], event: int, each: int = 1
    ) -> NDArray[Any]:
        """The rows of several extents, one after the other; neighbours are read at once.

        Args:
            table: the table.
            firsts: first row of each extent.
            counts: number of rows of each.
            event: the event of the first extent, for errors.
            each: extents per event.
        """
        length = len(self.tables[table])
        beyond = np.flatnonzero((firsts > length) | (counts > length - np.minimum(firsts, length)))
        if len(beyond):
            at = int(beyond[0])
            raise self.fail(
                table,
                f"rows {int(firsts[at])} to {int(firsts[at]) + int(counts[at]) - 1} were requested, "
                f"but there are only {length}.",
                event + at // each,
            )
        firsts, counts = firsts.astype(np.int64), counts.astype(np.int64)
        ends = firsts + counts
        breaks = np.flatnonzero(firsts[1:] != ends[:-1]) + 1
        starts, stops = np.r_[0, breaks], np.r_[breaks, len(firsts)]
        pieces = [
            self.read(table, int(firsts[a]), int(ends[b - 1]), event + int(a) // each)
            for a, b in zip(starts, stops, strict=True)
        ]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def projections(self, first: int, last: int, shape: tuple[int, int] | None) -> tuple[Any, Any, Any]:
        """The image rows of a block of events: order of the planes, first rows and plane size.

        Returns:
            `order` [events, 3]: for each plane its place among the rows of the event; `rows` [events]: the first
            row of each event; and the (wires, ticks) that all planes have.
        """
        extents = self.read("extents", first, last)
        wrong = np.flatnonzero(extents["N"] != PLANES)
        if len(wrong):
            at = int(wrong[0])
            count = int(extents["N"][at])
            raise self.fail("extents", f"{count} planes; there must be {PLANES}.", first + at)
        meta = self.rows("image_meta", extents["first"], extents["N"], first)
        numbers = meta["projection_id"].reshape(-1, PLANES)
        order = np.argsort(numbers, axis=1, kind="stable")
        sound = np.take_along_axis(numbers, order, 1) == np.arange(PLANES, dtype=np.uint64)
        wrong = np.flatnonzero(~sound.all(axis=1))
        if len(wrong):
            at = int(wrong[0])
            raise self.fail(
                "image_meta",
                f"projection_id is {numbers[at].tolist()}; there must be 0, 1 and 2.",
                first + at,
            )
        sizes = meta["number_of_voxels"]
        if shape is None:
            shape = plane_shape(self, sizes[0], first)
        wrong = np.flatnonzero((sizes != np.array(shape, np.uint64)).any(axis=1))
        if len(wrong):
            at = int(wrong[0])
            raise self.fail(
                "image_meta",
                f"planes of {sizes[at].tolist()} pixels (wires, ticks); the others have {list(shape)}.",
                first + at // PLANES,
            )
        return order, extents["first"].astype(np.int64), shape


def plane_shape(group: Group, size: NDArray[Any], event: int) -> tuple[int, int]:
    """The (wires, ticks) of a plane, if they are sensible."""
    wires, ticks = int(size[0]), int(size[1])
    if not (wires > 0 and ticks > 0 and wires * ticks <= MOST_PIXELS):
        raise group.fail("image_meta", f"planes of {wires} wires x {ticks} ticks are not plausible.", event)
    return wires, ticks


def sparse_rows(group: Group, first: int, last: int, shape: tuple[int, int]) -> PlaneRows:
    """Where the voxels of a block of events are, in the order of the planes."""
    order, rows, _ = group.projections(first, last, shape)
    counts = np.full(len(rows), PLANES, np.int64)
    extents = group.rows("voxel_extents", rows, counts, first)
    firsts = np.take_along_axis(extents["first"].reshape(-1, PLANES), order, 1)
    counts = np.take_along_axis(extents["N"].reshape(-1, PLANES), order, 1).astype(np.uint64)
    length = np.uint64(len(group.tables["voxels"]))
    beyond = (firsts > length) | (counts > length - np.minimum(firsts, length))
    beyond |= counts > np.uint64(shape[0] * shape[1])
    wrong = np.flatnonzero(beyond.any(axis=1))
    if len(wrong):
        at = int(wrong[0])
        plane = int(np.flatnonzero(beyond[at])[0])
        raise group.fail(
            "voxel_extents",
            f"plane {plane} has {int(counts[at, plane])} voxels from row {int(firsts[at, plane])} on, but there are "
            f"{int(length)} rows in voxels and {shape[0] * shape[1]} pixels in a plane.",
            first + at,
        )
    return PlaneRows(firsts.astype(np.int64), counts.astype(np.uint32))


def vertices(group: Group, first: int, last: int, shape: tuple[int, int]) -> NDArray[np.float32]:
    """The true vertex of a block of events: (wire, tick) per plane, NaN where a plane has none."""
    order, rows, _ = group.projections(first, last, shape)
    counts = np.full(len(rows), PLANES, np.int64)
    planes = group.rows("projection_extents", rows, counts, first)
    found = np.full((len(planes), 2), np.nan, np.float32)
    seen = np.flatnonzero(planes["N"] > 0)
    if len(seen):
        # The first cluster of a plane; there is one.
        one = np.ones(len(seen), np.int64)
        clusters = group.rows("cluster_extents", planes["first"][seen], one, first, PLANES)
        wrong = np.flatnonzero((clusters["N"] == 0) | (clusters["N"] > _VERTEX_PIXELS))
        if len(wrong):
            at = int(wrong[0])
            raise group.fail(
                "cluster_extents",
                f"the vertex has {int(clusters['N'][at])} pixels; it must have 1 to {_VERTEX_PIXELS}.",
                first + int(seen[at]) // PLANES,
            )
        voxels = group.rows("voxels", clusters["first"], clusters["N"], first, PLANES)
        if (voxels["id"] >= shape[0] * shape[1]).any():
            at = int(np.flatnonzero(voxels["id"] >= shape[0] * shape[1])[0])
            owner = np.repeat(seen, clusters["N"].astype(np.int64))[at]
            raise group.fail(
                "voxels", f"pixel {int(voxels['id'][at])} is outside the plane.", first + int(owner) // PLANES
            )
        wires, ticks = np.divmod(voxels["id"].astype(np.int64), shape[1])
        starts = np.r_[0, np.cumsum(clusters["N"].astype(np.int64))[:-1]]
        found[seen, 0] = np.add.reduceat(wires, starts) / clusters["N"]
        found[seen, 1] = np.add.reduceat(ticks, starts) / clusters["N"]
    by_event = found.reshape(-1, PLANES, 2)
    return np.take_along_axis(by_event, order[:, :, None], 1)


def neutrinos(group: Group, first: int, last: int) -> NDArray[Any]:
    """The neutrino of each event of a block: the first of its particles."""
    extents = group.read("extents", first, last)
    wrong = np.flatnonzero(extents["N"] > _MOST_PARTICLES)
    if len(wrong):
        at = int(wrong[0])
        raise group.fail("extents", f"{int(extents['N'][at])} particles are not plausible.", first + at)
    found = np.zeros(last - first, _NEUTRINO)
    # All particles of neighbouring events are read at once, though only the first of each is wanted.
    particles = group.rows("particles", extents["first"], extents["N"], first)
    has = extents["N"] > 0
    begins = np.cumsum(extents["N"].astype(np.int64)) - extents["N"]
    chosen = particles[begins[has]]
    found["known"] = has
    found["pdg"][has], found["current_type"][has] = chosen["pdg"], chosen["current_type"]
    found["energy"][has] = chosen["energy_init"]
    found["position"][has] = np.stack([chosen["vtx"][axis] for axis in "xyz"], axis=1)
    possible = (
        np.isfinite(found["energy"]) & (found["energy"] >= 0) & np.isfinite(found["position"]).all(axis=1)
    )
    if not possible.all():
        at = int(np.argmin(possible))
        energy, place = float(found["energy"][at]), found["position"][at].tolist()
        raise group.fail("particles", f"energy {energy} at {place} is not possible.", first + at)
    return found


def truth_of(row: Any) -> Truth | None:
    """A row of `neutrinos` in words."""
    if not row["known"]:
        return None
    x, y, z = row["position"].tolist()
    return Truth(int(row["pdg"]), int(row["current_type"]), float(row["energy"]), (x, y, z))
