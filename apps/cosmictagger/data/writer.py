"""Event files of the larcv3 layout, written event by event with bounded memory.

A file is written beside its place, flushed to disk and then renamed: it is there whole or not at all. Tables,
record types, chunks and compression are those of the public files, so that other larcv3 readers take them too.
Predictions are one more group of the same kind, with the pixels of the charge in the same order.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cosmictagger.data import layout
from cosmictagger.data.events import CLASSES, Event, EventId
from cosmictagger.data.growing import Draft, Table, TableGroup


class _Writer:
    """What both writers do alike: a draft, event ids, whole or not at all."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._draft: Draft | None = Draft(path)
        self.path = self._draft.path
        self._tables: list[Table] = []
        self._ids = Table(self._draft.file, layout.EVENT_IDS, layout.EVENT_ID, layout.EVENT_ID_CHUNK)
        self._tables.append(self._ids)
        self._shape: tuple[int, int] | None = None

    def __len__(self) -> int:
        """Number of events so far."""
        return self._ids.rows

    def _group(self, kind: str, name: str) -> TableGroup:
        if not name or not all(part.isalnum() for part in name.split("_")):
            raise ValueError(f"A group cannot have the name {name!r}: use letters, digits and underscores.")
        if self._draft is None:
            raise ValueError(f"{self.path} is closed.")
        group = TableGroup(self._draft.file, kind, name)
        self._tables += group.tables.values()
        return group

    def _begin(self, event: Event) -> None:
        if self._draft is None:
            raise ValueError(f"{self.path} is closed.")
        if self._shape is None:
            self._shape = event.shape
        if event.shape != self._shape:
            raise ValueError(
                f"{self.path}: event {len(self)} has planes of {event.shape} pixels, the others have {self._shape}."
            )

    def _name(self, event_id: EventId) -> None:
        self._ids.append(np.array([tuple(event_id)], layout.EVENT_ID))

    def close(self) -> None:
        """Finish the file: from now on it is in its place."""
        if self._draft is None:
            return
        draft, self._draft = self._draft, None
        try:
            for table in self._tables:
                table.flush()
            draft.keep()
        except BaseException as problem:
            self._give_up(draft, problem)
            raise

    def discard(self) -> None:
        """Give up: nothing is left behind, and what was in this place before stays."""
        if self._draft is not None:
            self._draft.discard()
            self._draft = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        elif self._draft is not None:
            draft, self._draft = self._draft, None
            self._give_up(draft, error)

    def _give_up(self, draft: Draft, problem: BaseException | None) -> None:
        """Discard the draft; raises the cause if what went wrong is that the disk is full, which h5py hides."""
        explained = draft.explained(problem) if isinstance(problem, Exception) else problem
        draft.discard()
        if explained is not None and explained is not problem:
            raise explained from problem


class EventWriter(_Writer):
    """Writes events: `with EventWriter(path) as writer: writer.write(event)`.

    Args:
        path: the file to make. If the context ends with an error, what was there before stays.
        charge: name of the group with the charge.
        labels: name of the group with the classes; None writes none.
        vertex: name of the group with the true vertex; None writes none.
        truth: name of the group with the neutrino; None writes none.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        charge: str = layout.CHARGE,
        labels: str | None = layout.LABELS,
        vertex: str | None = layout.VERTEX,
        truth: str | None = layout.TRUTH,
    ) -> None:
        super().__init__(path)
        try:
            self._charge = self._group("sparse2d", charge)
            self._labels = None if labels is None else self._group("sparse2d", labels)
            self._vertex = None if vertex is None else self._group("cluster2d", vertex)
            self._truth = None if truth is None else self._group("particle", truth)
        except BaseException:
            self.discard()
            raise

    def write(self, event: Event) -> None:
        """Append an event.

        Raises:
            ValueError: it has no labels, though the file has; or its planes have another size.
        """
        self._begin(event)
        if self._labels is not None:
            if event.labels is None:
                raise ValueError(f"Event {len(self)} has no labels: make the writer with labels=None.")
            self._labels.sparse(event, event.labels)
        self._charge.sparse(event, event.values)
        if self._vertex is not None:
            self._vertex.vertex(event)
        if self._truth is not None:
            self._truth.particle(event.truth)
        self._name(event.event_id)


class PredictionWriter(_Writer):
    """Writes what a network found: `Data/sparse2d_<name>_group`, the class of each stored pixel.

    Read the file with `EventFile(path, labels=name)`, or with any reader of the layout.

    Args:
        path: the file to make.
        name: name of the group.
        probabilities: write the groups `<name>_background`, `<name>_cosmic` and `<name>_neutrino` too.
        charge: name of the group with a copy of the charge; None writes none. (Our reader needs it.)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        name: str = "prediction",
        *,
        probabilities: bool = False,
        charge: str | None = layout.CHARGE,
    ) -> None:
        super().__init__(path)
        try:
            self._classes = self._group("sparse2d", name)
            self._charge = None if charge is None else self._group("sparse2d", charge)
            self._probabilities = [
                self._group("sparse2d", f"{name}_{label}") for label in (CLASSES if probabilities else ())
            ]
        except BaseException:
            self.discard()
            raise

    def write(self, event: Event, classes: NDArray[Any], probabilities: NDArray[Any] | None = None) -> None:
        """Append the prediction for an event.

        Args:
            event: the event, for its pixels and its id.
            classes: 0, 1 or 2 for each stored pixel (`dense.at_voxels` takes them from an image).
            probabilities: [pixels, 3], if the file has them.

        Raises:
            ValueError: the arrays do not fit the event, or hold something else.
        """
        self._begin(event)
        pixels = len(event.ids)
        if classes.shape != (pixels,):
            raise ValueError(
                f"Event {len(self)} has {pixels} pixels, but the classes have shape {classes.shape}."
            )
        if pixels and not np.isin(classes, range(len(CLASSES))).all():
            raise ValueError(f"The classes of event {len(self)} must be 0, 1 or 2.")
        if (probabilities is not None) != bool(self._probabilities):
            raise ValueError("Probabilities must be given if, and only if, the writer was made for them.")
        if probabilities is not None and probabilities.shape != (pixels, len(CLASSES)):
            raise ValueError(
                f"Event {len(self)} needs probabilities of shape {(pixels, len(CLASSES))}, not {probabilities.shape}."
            )
        self._classes.sparse(event, classes)
        if self._charge is not None:
            self._charge.sparse(event, event.values)
        for number, group in enumerate(self._probabilities):
            assert probabilities is not None
            group.sparse(event, probabilities[:, number])
        self._name(event.event_id)
