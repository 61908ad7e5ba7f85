"""Reads samples from any number of HDF5 files, one at a time: memory does not grow with the data set.

Volumes that are larger than asked for are cut into cubes of that size, in the order of their axes, as is done with
the simulated universes of MLPerf HPC. Files are opened when needed and by each process for itself.
"""

from __future__ import annotations

import bisect
import os
from collections import OrderedDict
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from cosmoflow.data.layout import (
    MOST_SAMPLE_BYTES,
    MOST_TARGET,
    BadSampleFile,
    Layout,
    Parameters,
    damage,
    layout_of,
    parameters_in,
)
from cosmoflow.network import CHANNELS

Sample = tuple[NDArray[np.int16], NDArray[np.float32]]

_ENDINGS = (".h5", ".hdf5")
#: files that one process keeps open
MOST_OPEN = 16
_LARGEST = np.iinfo(np.int16).max


class SampleFile:
    """One file, with its layout checked.

    Args:
        path: the file.
        size: side of the cubes to give; that of the file by default.
    """

    def __init__(self, path: str | Path, size: int | None = None) -> None:
        self.path = Path(path)
        try:
            self._file = h5py.File(self.path, "r", locking=False)
        except OSError as problem:
            raise BadSampleFile(self.path, "", _why(self.path, problem)) from problem
        try:
            with damage(self.path):
                self.layout: Layout = layout_of(self._file, self.path)
                self.parameters: Parameters = parameters_in(self._file)
                self._counts = self._file[self.layout.counts]
                self._targets = self._file[self.layout.targets]
            self.size = self.layout.side if size is None else size
            if self.size < 1 or self.layout.side % self.size:
                raise BadSampleFile(
                    self.path,
                    self.layout.counts,
                    f"has volumes of side {self.layout.side}, which cannot be cut into cubes of side {self.size}.",
                )
            needed = self.size**3 * CHANNELS * self._counts.dtype.itemsize
            if needed > MOST_SAMPLE_BYTES:
                raise BadSampleFile(
                    self.path,
                    self.layout.counts,
                    f"has samples of {needed >> 30} GiB; at most {MOST_SAMPLE_BYTES >> 30} GiB are read. Ask for "
                    "smaller cubes (data.size).",
                )
        except BaseException:
            self._file.close()
            raise

    @property
    def crops(self) -> int:
        """Cubes of one volume."""
        return (self.layout.side // self.size) ** 3

    def __len__(self) -> int:
        return self.layout.volumes * self.crops

    def read(self, sample: int) -> Sample:
        """Counts [D, D, D, 4] and targets [4] of one sample.

        Raises:
            BadSampleFile: they cannot be read, or are not counts and targets.
        """
        volume, crop = divmod(sample, self.crops)
        along = self.layout.side // self.size
        corners = (crop // along**2 * self.size, crop // along % along * self.size, crop % along * self.size)
        place: tuple[int | slice, ...] = tuple(slice(corner, corner + self.size) for corner in corners)
        place = (slice(None), *place) if self.layout.channels_first else (*place, slice(None))
        if self.layout.many:
            place = (volume, *place)
        with damage(self.path, self.layout.counts, sample):
            counts = self._counts[place]
            targets = self._targets[volume] if self.layout.many else self._targets[()]
        if self.layout.channels_first:
            counts = np.moveaxis(counts, 0, -1)
        return self._checked_counts(counts, sample), self._checked_targets(targets, sample)

    def _checked_counts(self, counts: NDArray[np.generic], sample: int) -> NDArray[np.int16]:
        where = self.layout.counts
        if counts.dtype.kind == "f":
            if not np.isfinite(counts).all():
                raise BadSampleFile(
                    self.path, where, "has values that are not finite (NaN or infinity).", sample
                )
            if (counts != np.floor(counts)).any():
                raise BadSampleFile(
                    self.path,
                    where,
                    "has fractions; counts of particles are whole. Was it transformed before?",
                    sample,
                )
        if counts.min() < 0:
            raise BadSampleFile(self.path, where, "has negative counts.", sample)
        if counts.dtype != np.int16 and counts.max() > _LARGEST:
            raise BadSampleFile(
                self.path, where, f"has counts above {_LARGEST}, the most that int16 holds.", sample
            )
        return np.ascontiguousarray(counts, np.int16)

    def _checked_targets(self, targets: NDArray[np.generic], sample: int) -> NDArray[np.float32]:
        found = targets.astype(np.float32)
        if not (np.abs(found) <= MOST_TARGET).all():  # also false for NaN
            raise BadSampleFile(
                self.path,
                self.layout.targets,
                f"has targets {found.tolist()}; they should be within [-1, 1].",
                sample,
            )
        return found

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class SampleFiles:
    """Samples of files and folders, in the order of their names.

    A folder may hold hundreds of thousands of files with one sample each. If the first file of a folder is such a
    one, the others are taken to be alike and are looked at when they are read.

    Args:
        places: a file, a folder (searched to any depth), or several of either.
        size: side of the cubes to give; that of the first file by default.

    Raises:
        BadSampleFile: there are no files, or one cannot be used.
    """

    def __init__(self, places: str | Path | Iterable[str | Path], size: int | None = None) -> None:
        listed = [places] if isinstance(places, str | Path) else list(places)
        self.paths: list[Path] = []
        lengths: list[int] = []
        wanted = size
        self.parameters = Parameters()
        for place in map(Path, listed):
            found = _files_of(place)
            each: int | None = None
            for number, path in enumerate(found):
                if each is None:
                    length, wanted, one_each = self._look(path, wanted)
                    if number == 0 and one_each and place.is_dir():
                        each = length
                lengths.append(length)
                self.paths.append(path)
        if not self.paths:
            raise BadSampleFile(", ".join(map(str, listed)) or "(no path)", "", "no files to read.")
        assert wanted is not None
        self.size: int = wanted
        self._lengths = lengths
        self._ends = list(accumulate(lengths))
        self._open: OrderedDict[Path, SampleFile] = OrderedDict()
        self._process = os.getpid()

    def _look(self, path: Path, size: int | None) -> tuple[int, int, bool]:
        """Samples of a file, their side, and whether it holds one volume only."""
        file = SampleFile(path, size)
        try:
            if not self.parameters.physical:
                self.parameters = file.parameters
            return len(file), file.size, file.layout.volumes == 1
        finally:
            file.close()

    @property
    def bytes_of_sample(self) -> int:
        """Bytes of the counts and targets of one sample."""
        return self.size**3 * CHANNELS * 2 + 16

    def __len__(self) -> int:
        return self._ends[-1]

    def read(self, sample: int) -> Sample:
        """Counts [D, D, D, 4] and targets [4] of one sample.

        Raises:
            BadSampleFile: they cannot be read, or are not counts and targets.
        """
        if not 0 <= sample < len(self):
            raise IndexError(f"There is no sample {sample}; the data set has {len(self)}.")
        number = bisect.bisect_right(self._ends, sample)
        file = self._file(number)
        return file.read(sample - (self._ends[number] - self._lengths[number]))

    def _file(self, number: int) -> SampleFile:
        if self._process != os.getpid():  # handles of HDF5 are not for a forked process
            self._open, self._process = OrderedDict(), os.getpid()
        path = self.paths[number]
        if path not in self._open:
            file = SampleFile(path, self.size)
            if len(file) != self._lengths[number]:
                file.close()
                raise BadSampleFile(
                    path,
                    file.layout.counts,
                    f"has {len(file)} samples, but the first file of this folder led to expect "
                    f"{self._lengths[number]}: put files of different kinds into different folders.",
                )
            while len(self._open) >= MOST_OPEN:
                self._open.popitem(last=False)[1].close()
            self._open[path] = file
        self._open.move_to_end(path)
        return self._open[path]

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_open": OrderedDict()}

    def close(self) -> None:
        """Close what is open; it is opened again when needed."""
        while self._open:
            self._open.popitem()[1].close()


def _files_of(place: Path) -> list[Path]:
    if place.is_dir():
        found = sorted(path for path in place.rglob("*") if path.suffix in _ENDINGS and path.is_file())
        if not found:
            raise BadSampleFile(place, "", f"has no files that end in {' or '.join(_ENDINGS)}.")
        return found
    return [place]


def _why(path: Path, problem: OSError) -> str:
    if not path.exists():
        return "no such file."
    if not h5py.is_hdf5(path):
        return "is not an HDF5 file, or lost its beginning."
    return f"cannot be opened as HDF5 ({problem}); it may have been cut short."
