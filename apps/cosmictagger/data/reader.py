"""Events from HDF5 files of the larcv3 layout, one at a time, in any order.

Memory is bounded whatever the size of the file: an event's voxels, a few blocks of the index, and HDF5's
chunk cache. Each process opens files for itself, on first use, so readers may be sent to worker processes by
fork or by pickle. Threads may share a reader: they take turns.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosmictagger.data import layout
from cosmictagger.data.events import Event, EventId, Truth
from cosmictagger.data.layout import BadEventFile
from cosmictagger.data.opened import OpenFile

_MOST_OPEN_FILES = 16


class EventFile(Sequence[Event]):
    """The events of one file.

    Args:
        path: the file.
        charge: name of the group with the charge.
        labels: name of the group with the classes, such as `prediction` for a file of predictions; None reads
            no labels, for detector data.
        vertex: name of the group with the true vertex; events of files without it have none.
        truth: name of the group with the true particles; events of files without it have none.

    Attributes:
        path: the file.
        shape: pixels of a plane: (wires, ticks).

    Raises:
        BadEventFile: the file is broken or has another layout. Events are checked when they are read.
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
        self.path = Path(path)
        self._names = {"charge": charge, "labels": labels, "vertex": vertex, "truth": truth}
        self._lock = threading.RLock()
        self._open_in: int | None = None
        self._state: OpenFile | None = None
        with self._lock:
            state = self._opened()
            self._events, self.shape = state.events, state.shape
            # a process forked from here should not inherit an open file
            self.close()

    def __len__(self) -> int:
        return self._events

    def __getitem__(self, number: int) -> Event:  # type: ignore[override]  # no slices: events are read singly
        return self.read(number)

    def __iter__(self) -> Iterator[Event]:
        for number in range(self._events):
            yield self.read(number)

    def read(self, number: int, with_truth: bool = True) -> Event:
        """Read an event.

        Args:
            number: its place in the file; negative counts from the end.
            with_truth: read vertex, neutrino and event id too. Training does not need them.

        Raises:
            BadEventFile: what the file says about this event is not possible.
            IndexError: there is no such event.
        """
        number = self._checked(number)
        with self._lock, layout.damage(self.path, number):
            return self._opened().event(number, with_truth)

    def truth(self, number: int) -> Truth | None:
        """The neutrino of an event, without its pixels."""
        number = self._checked(number)
        with self._lock, layout.damage(self.path, number):
            return self._opened().truth(number)

    def vertex(self, number: int) -> NDArray[np.float32] | None:
        """The vertex of an event ([3, 2]: wire and tick per plane), without its pixels."""
        number = self._checked(number)
        with self._lock, layout.damage(self.path, number):
            return self._opened().vertex(number)

    def event_id(self, number: int) -> EventId:
        """The name of an event."""
        number = self._checked(number)
        with self._lock, layout.damage(self.path, number):
            return self._opened().event_id(number)

    def counts(self, number: int) -> NDArray[np.int64]:
        """Number of stored pixels of each plane of an event, without reading them."""
        number = self._checked(number)
        with self._lock, layout.damage(self.path, number):
            block, within = self._opened().charge_rows.of(number)
            counts: NDArray[np.int64] = block.count[within].astype(np.int64)
            return counts

    @property
    def bytes_on_disk(self) -> int:
        """Size of the file."""
        return self.path.stat().st_size

    def close(self) -> None:
        """Close the file in this process. Reading opens it again."""
        with self._lock:
            if self._state is not None and self._open_in == os.getpid():
                self._state.file.close()
            self._state = None

    def __enter__(self) -> EventFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_state": None, "_open_in": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()

    def _checked(self, number: int) -> int:
        if not -self._events <= number < self._events:
            raise IndexError(f"{self.path} has {self._events} events; there is no event {number}.")
        return number % self._events

    def _opened(self) -> OpenFile:
        if self._state is None or self._open_in != os.getpid():
            self._state = OpenFile(self.path, self._names)
            self._open_in = os.getpid()
        return self._state


class EventFiles(Sequence[Event]):
    """The events of several files, as one sequence in the order of the files.

    Args:
        paths: a file, a folder (all its `*.h5`, by name), or several of these.
        names: names of groups, as for `EventFile`.

    Raises:
        BadEventFile: a file is broken, or its planes have another size than those of the first.
        FileNotFoundError: there are no files.
    """

    def __init__(
        self, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], **names: str | None
    ) -> None:
        given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        found: list[Path] = []
        for path in map(Path, given):
            found += sorted(path.glob("*.h5")) if path.is_dir() else [path]
        if not found:
            raise FileNotFoundError(
                f"No event files (*.h5) in {', '.join(map(str, given)) or 'an empty list'}."
            )
        self.files = [EventFile(path, **names) for path in found]  # type: ignore[arg-type]
        self.shape = self.files[0].shape
        for file in self.files:
            if file.shape != self.shape:
                raise BadEventFile(
                    file.path,
                    "",
                    f"has planes of {file.shape} pixels (wires, ticks), but {self.files[0].path} has {self.shape}.",
                )
        self._ends = np.cumsum([len(file) for file in self.files])
        self._used: OrderedDict[int, None] = OrderedDict()
        self._used_in: int | None = None

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, number: int) -> Event:  # type: ignore[override]  # no slices
        return self.read(number)

    def locate(self, number: int) -> tuple[EventFile, int]:
        """The file of an event, and the event's number in it."""
        if not -len(self) <= number < len(self):
            raise IndexError(f"There are {len(self)} events in {len(self.files)} files; none is {number}.")
        number %= len(self)
        at = int(np.searchsorted(self._ends, number, side="right"))
        return self._use(at), number - (int(self._ends[at - 1]) if at else 0)

    def read(self, number: int, with_truth: bool = True) -> Event:
        """Read an event; see `EventFile.read`."""
        file, within = self.locate(number)
        return file.read(within, with_truth)

    def truth(self, number: int) -> Truth | None:
        """The neutrino of an event, without its pixels."""
        file, within = self.locate(number)
        return file.truth(within)

    def vertex(self, number: int) -> NDArray[np.float32] | None:
        """The vertex of an event, without its pixels."""
        file, within = self.locate(number)
        return file.vertex(within)

    def event_id(self, number: int) -> EventId:
        """The name of an event."""
        file, within = self.locate(number)
        return file.event_id(within)

    def counts(self, number: int) -> NDArray[np.int64]:
        """Number of stored pixels of each plane of an event."""
        file, within = self.locate(number)
        return file.counts(within)

    @property
    def bytes_on_disk(self) -> int:
        """Size of all files."""
        return sum(file.bytes_on_disk for file in self.files)

    def close(self) -> None:
        """Close the files in this process."""
        for file in self.files:
            file.close()

    def __enter__(self) -> EventFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _use(self, at: int) -> EventFile:
        """Note that a file is in use; of many, those used longest ago are closed."""
        if self._used_in != os.getpid():
            self._used, self._used_in = OrderedDict(), os.getpid()
        self._used[at] = None
        self._used.move_to_end(at)
        while len(self._used) > _MOST_OPEN_FILES:
            oldest, _ = self._used.popitem(last=False)
            self.files[oldest].close()
        return self.files[at]
