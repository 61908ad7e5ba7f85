"""A file that is open in this process: its tables, its index, and events made from them, checked.

`reader` decides when a file is opened and closed; nothing here outlives the process that opened it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from cosmictagger.data import layout
from cosmictagger.data.events import CLASSES, PLANES, Event, EventId, Truth
from cosmictagger.data.index import Blocks, Group, neutrinos, sparse_rows, truth_of, vertices
from cosmictagger.data.layout import BadEventFile

_CHUNK_CACHE_BYTES = 4 << 20


class OpenFile:
    """A file that is open in this process, with its index."""

    def __init__(self, path: Path, names: dict[str, str | None]) -> None:
        self.path = path
        try:
            self.file = h5py.File(path, "r", locking="best-effort", rdcc_nbytes=_CHUNK_CACHE_BYTES)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise BadEventFile(
                path, "", f"cannot be opened: not an HDF5 file, or cut off ({error})."
            ) from error
        try:
            with layout.damage(path):
                self._prepare(names)
        except BaseException:
            self.file.close()
            raise

    def _prepare(self, names: dict[str, str | None]) -> None:
        assert names["charge"] is not None
        charge = self._group("sparse2d", names["charge"])
        self.charge = charge
        self.events = len(charge.tables["extents"])
        if not self.events:
            raise charge.fail("extents", "the file has no events.")
        self.shape = charge.projections(0, 1, None)[2]
        self.labels = None if names["labels"] is None else self._group("sparse2d", names["labels"])
        self._vertex = self._optional("cluster2d", names["vertex"])
        self._truth = self._optional("particle", names["truth"])
        self.ids = None
        if layout.EVENT_IDS in self.file:
            ids = layout.checked_table(
                self.file, self.path, layout.EVENT_IDS, layout.EVENT_ID, tuple(layout.EVENT_ID.names or ())
            )
            self.ids = Group(self.path, "Events", {"event_id": ids})
        for group, table in (
            (self.labels, "extents"),
            (self._vertex, "extents"),
            (self._truth, "extents"),
            (self.ids, "event_id"),
        ):
            if group is not None and len(group.tables[table]) != self.events:
                raise group.fail(
                    table, f"has {len(group.tables[table])} events, but the charge has {self.events}."
                )
        self.charge_rows = Blocks(self.events, lambda a, b: sparse_rows(charge, a, b, self.shape))
        labels, vertex, truth = self.labels, self._vertex, self._truth
        if labels is not None:
            self._label_rows = Blocks(self.events, lambda a, b: sparse_rows(labels, a, b, self.shape))
        if vertex is not None:
            self._vertices = Blocks(self.events, lambda a, b: vertices(vertex, a, b, self.shape))
        if truth is not None:
            self._truths = Blocks(self.events, lambda a, b: neutrinos(truth, a, b))

    def _group(self, kind: str, name: str) -> Group:
        return Group(
            self.path, layout.group_path(kind, name), layout.tables(self.file, self.path, kind, name)
        )

    def _optional(self, kind: str, name: str | None) -> Group | None:
        if name is None or not layout.has_group(self.file, kind, name):
            return None
        return self._group(kind, name)

    def event(self, number: int, with_truth: bool) -> Event:
        voxels, offsets = self._voxels(self.charge, self.charge_rows, number)
        ids = voxels["id"].astype(np.int64)
        pixels = self.shape[0] * self.shape[1]
        if len(ids) and (voxels["id"] >= pixels).any():
            at = int(np.argmax(voxels["id"] >= pixels))
            raise self.charge.fail(
                "voxels", f"pixel {int(voxels['id'][at])} is outside the plane, which has {pixels}.", number
            )
        # a plain float32: numpy is slow with the type that comes out of a record
        values = voxels["value"].astype(np.float32)
        if len(values) and not (values.min() >= 0 and values.max() < np.inf):
            at = int(np.argmax(~((values >= 0) & (values < np.inf))))
            raise self.charge.fail(
                "voxels", f"the charge of pixel {int(ids[at])} is {values[at]}; it must be 0 or more.", number
            )
        labels = None if self.labels is None else self._classes(number, voxels["id"], offsets)
        if not with_truth:
            return Event(self.shape, ids, values, labels, offsets)
        return Event(
            self.shape,
            ids,
            values,
            labels,
            offsets,
            self.vertex(number),
            self.truth(number),
            self.event_id(number),
        )

    def _voxels(self, group: Group, rows: Blocks, number: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        block, within = rows.of(number)
        first, count = block.first[within], block.count[within].astype(np.int64)
        return group.rows("voxels", first, count, number, PLANES), np.r_[np.int64(0), np.cumsum(count)]

    def _classes(self, number: int, ids: NDArray[np.uint64], offsets: NDArray[np.int64]) -> NDArray[np.uint8]:
        assert self.labels is not None
        voxels, own = self._voxels(self.labels, self._label_rows, number)
        if not np.array_equal(own, offsets):
            raise self.labels.fail(
                "voxel_extents",
                f"{np.diff(own).tolist()} labelled pixels per plane, but {np.diff(offsets).tolist()} with charge.",
                number,
            )
        if not np.array_equal(voxels["id"], ids):
            at = int(np.argmax(voxels["id"] != ids))
            raise self.labels.fail(
                "voxels",
                f"the label in row {at} of the event is for pixel {int(voxels['id'][at])}, the charge for "
                f"{int(ids[at])}; they must be the same.",
                number,
            )
        values = voxels["value"]
        with np.errstate(invalid="ignore"):
            labels = values.astype(np.uint8)
        # written so that NaN fails too
        if not ((labels == values) & (labels < len(CLASSES))).all():
            at = int(np.argmax(~((labels == values) & (labels < len(CLASSES)))))
            raise self.labels.fail(
                "voxels", f"the label of pixel {int(ids[at])} is {values[at]}; it must be 0, 1 or 2.", number
            )
        return labels

    def vertex(self, number: int) -> NDArray[np.float32] | None:
        if self._vertex is None:
            return None
        block, within = self._vertices.of(number)
        found: NDArray[np.float32] = block[within]
        return None if np.isnan(found).all() else found

    def truth(self, number: int) -> Truth | None:
        if self._truth is None:
            return None
        block, within = self._truths.of(number)
        return truth_of(block[within])

    def event_id(self, number: int) -> EventId:
        if self.ids is None:
            return EventId()
        row = self.ids.read("event_id", number, number + 1, number)[0]
        return EventId(int(row["run"]), int(row["subrun"]), int(row["event"]))
