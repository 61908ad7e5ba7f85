"""Tables that grow row by row, the groups that they form, and the draft of a file that holds them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray
from tremula.atomic_files import PendingFile

from cosmictagger.data import layout
from cosmictagger.data.events import PLANES, Event, Truth

#: Bytes of rows of a table that wait in memory until they are written.
_WAITING_BYTES = 2**17
_NO_NUMBER_16, _NO_NUMBER_32 = 2**16 - 1, 2**32 - 1


class Table:
    """A table that grows. Rows wait until they fill whole chunks, so that each chunk is compressed once."""

    def __init__(self, file: h5py.File, path: str, dtype: np.dtype, chunk: int) -> None:
        self._data = file.create_dataset(
            path, (0,), dtype, maxshape=(None,), chunks=(chunk,), compression="gzip", compression_opts=1
        )
        self._waiting = np.zeros(chunk * max(1, _WAITING_BYTES // (chunk * dtype.itemsize)), dtype)
        self._written = self._count = 0

    @property
    def rows(self) -> int:
        """Rows so far, written or waiting."""
        return self._written + self._count

    def append(self, rows: NDArray[Any]) -> None:
        while len(rows):
            fits = rows[: len(self._waiting) - self._count]
            self._waiting[self._count : self._count + len(fits)] = fits
            self._count += len(fits)
            rows = rows[len(fits) :]
            if self._count == len(self._waiting):
                self.flush()

    def flush(self) -> None:
        if self._count:
            self._data.resize((self.rows,))
            self._data[self._written :] = self._waiting[: self._count]
            self._written, self._count = self.rows, 0


class TableGroup:
    """The tables of one group."""

    def __init__(self, file: h5py.File, kind: str, name: str) -> None:
        where = layout.group_path(kind, name)
        self.tables = {
            table: Table(file, f"{where}/{table}", dtype, chunk)
            for table, (dtype, chunk, _) in layout.TABLES[kind].items()
        }

    def extent(self, table: str, of: str, count: int, number: int | None = None) -> None:
        """One row that points at the next `count` rows of another table."""
        dtype = layout.EXTENTS if number is None else layout.ID_EXTENTS
        row = np.zeros(1, dtype)
        row["first"], row["N"] = self.tables[of].rows, count
        if number is not None:
            row["ID"] = number
        self.tables[table].append(row)

    def images(self, shape: tuple[int, int]) -> None:
        """What the three planes look like."""
        meta = np.zeros(PLANES, layout.IMAGE_META)
        meta["valid"], meta["projection_id"] = 1, np.arange(PLANES)
        meta["image_sizes"] = meta["number_of_voxels"] = shape
        self.extent("extents", "image_meta", PLANES)
        self.tables["image_meta"].append(meta)

    def sparse(self, event: Event, values: NDArray[Any]) -> None:
        """The pixels of an event with one value each."""
        self.images(event.shape)
        extents = np.zeros(PLANES, layout.ID_EXTENTS)
        extents["first"] = self.tables["voxels"].rows + event.offsets[:-1]
        extents["N"], extents["ID"] = event.counts, np.arange(PLANES)
        self.tables["voxel_extents"].append(extents)
        voxels = np.zeros(len(event.ids), layout.VOXEL)
        voxels["id"], voxels["value"] = event.ids, values
        self.tables["voxels"].append(voxels)

    def vertex(self, event: Event) -> None:
        """A square of 3 x 3 pixels in each plane; none where there is no vertex."""
        self.images(event.shape)
        for plane in range(PLANES):
            at = None if event.vertex is None else event.vertex[plane]
            seen = at is not None and bool(np.isfinite(at).all())
            self.extent("projection_extents", "cluster_extents", int(seen), plane)
            if at is None or not seen:
                continue
            wires, ticks = (int(np.rint(position)) + np.arange(-1, 2) for position in at)
            # at the edge of a plane the square is smaller; its centre then is not where the vertex was
            wires = wires[(wires >= 0) & (wires < event.shape[0])]
            ticks = ticks[(ticks >= 0) & (ticks < event.shape[1])]
            voxels = np.zeros(len(wires) * len(ticks), layout.VOXEL)
            voxels["id"] = (wires[:, None] * event.shape[1] + ticks).ravel()
            voxels["value"] = 1
            self.extent("cluster_extents", "voxels", len(voxels), 0)
            self.tables["voxels"].append(voxels)

    def particle(self, truth: Truth | None) -> None:
        """The neutrino as the only particle."""
        self.extent("extents", "particles", int(truth is not None))
        if truth is None:
            return
        row = np.zeros(1, layout.PARTICLE)
        row["mcst_index"] = row["mct_index"] = _NO_NUMBER_16
        row["parent_trackid"] = row["ancestor_trackid"] = _NO_NUMBER_32
        row["shape"], row["interaction_type"], row["dist_travel"] = 2, -1, -1
        row["pdg"], row["current_type"], row["energy_init"] = truth.pdg, truth.current_type, truth.energy
        row["pz"], row["process"] = truth.energy, b"primary"
        for axis, position in zip("xyz", truth.position, strict=True):
            row["vtx"][axis] = position
        self.tables["particles"].append(row)


class Draft:
    """An HDF5 file under a temporary name, which takes its final name when it is complete."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._pending = PendingFile(self.path)
        try:
            self.file = h5py.File(self._pending.temporary, "x", locking="best-effort")
        except OSError as problem:
            explained = self.explained(problem)
            self._pending.discard()
            raise explained from None

    def keep(self) -> None:
        self.file.close()
        self._pending.commit()

    def explained(self, problem: Exception) -> Exception:
        """The exception to raise for one that writing raised: it names the file if its disk is full."""
        return self._pending.explained(problem)

    def discard(self) -> None:
        with contextlib.suppress(Exception):
            self.file.close()
        self._pending.discard()
