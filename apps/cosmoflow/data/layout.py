"""The HDF5 layouts in which CosmoFlow samples come, and checks that a file has one of them.

A file holds counts and targets: `x` and `y`, or `full` and `unitPar` as in the simulated universes of MLPerf HPC,
or `3Dmap` and `unitPar`. Counts are [D, D, D, 4] for one sample, [N, D, D, D, 4] for many, or with channels first;
targets are [4] or [N, 4]. A file is not trusted: only plain numbers inside the file itself are read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from cosmoflow.network import CHANNELS, TARGETS
from tremula.formatting import plain

#: names of counts and targets
NAMES = (("x", "y"), ("full", "unitPar"), ("3Dmap", "unitPar"))
#: limits that no sound file comes near: they keep a broken one from taking all memory
MOST_SIDE, MOST_CHUNK_BYTES, MOST_SAMPLE_BYTES = 4096, 2**30, 2**33
#: no filter that is read here makes data smaller by more
_MOST_PACKED = 1100
#: what HDF5 and numpy raise for damaged files, besides what they should
_DAMAGE = (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError, MemoryError, AttributeError)
#: targets are scaled to [-1, 1]; what is far outside is not one
MOST_TARGET = 10.0
_FILTERS = {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}


class BadSampleFile(ValueError):
    """A file cannot be used. The text names the file, the place in it and, if it is one, the sample.

    Attributes:
        path: the file.
        where: the dataset inside it.
        sample: the number of the sample in the file, or None.
    """

    def __init__(self, path: str | Path, where: str = "", what: str = "", sample: int | None = None) -> None:
        self.path, self.where, self.what, self.sample = str(path), where, what, sample
        if not what:  # torch raises errors of its worker processes anew, with nothing but their text
            super().__init__(plain(str(path)))
            return
        place = f"{path}: {where}" if where else str(path)
        super().__init__(plain(f"{place}{'' if sample is None else f', sample {sample}'}: {what}"))

    def __reduce__(self) -> tuple[type[BadSampleFile], tuple[str, str, str, int | None]]:
        # it has to come back whole from the worker processes of a loader
        return type(self), (self.path, self.where, self.what, self.sample)


@contextlib.contextmanager
def damage(path: Path, where: str = "", sample: int | None = None) -> Iterator[None]:
    """Whatever is raised in reading a damaged file becomes a BadSampleFile that names it.

    Raises:
        BadSampleFile: something was raised.
    """
    try:
        yield
    except BadSampleFile:
        raise
    except _DAMAGE as problem:
        text = " ".join(str(problem).split())[:200] or type(problem).__name__
        advice = "The file is damaged: make or fetch it again."
        raise BadSampleFile(path, where, f"cannot be read ({text}). {advice}", sample) from problem


@dataclass(frozen=True)
class Layout:
    """How samples lie in one file.

    Attributes:
        counts: name of the counts.
        targets: name of the targets.
        volumes: number of volumes.
        side: their side.
        many: whether the first axis counts volumes.
        channels_first: whether channels come before the three axes of space.
    """

    counts: str
    targets: str
    volumes: int
    side: int
    many: bool
    channels_first: bool


def layout_of(file: h5py.File, path: Path) -> Layout:
    """Find out how samples lie in a file.

    Raises:
        BadSampleFile: not in any of the known ways.
    """
    counts_name, targets_name = _names(file, path)
    counts, targets = plain_dataset(file, path, counts_name), plain_dataset(file, path, targets_name)
    if counts.ndim not in (4, 5):
        raise BadSampleFile(
            path, counts_name, f"has the shape {counts.shape}; it should be [D, D, D, 4] or [N, D, D, D, 4]."
        )
    many = counts.ndim == 5
    volume = counts.shape[1:] if many else counts.shape
    channels_first = volume[-1] != CHANNELS and volume[0] == CHANNELS
    sides = volume[1:] if channels_first else volume[:3]
    if (volume[0] if channels_first else volume[-1]) != CHANNELS or len(set(sides)) != 1 or sides[0] < 1:
        raise BadSampleFile(
            path,
            counts_name,
            f"has volumes of shape {volume}; they should be cubes with {CHANNELS} channels (redshifts).",
        )
    if sides[0] > MOST_SIDE:
        raise BadSampleFile(
            path, counts_name, f"has volumes of side {sides[0]}; more than {MOST_SIDE} is not believed."
        )
    volumes = counts.shape[0] if many else 1
    if not volumes:
        raise BadSampleFile(path, counts_name, "has no samples.")
    expected = (volumes, TARGETS) if many else (TARGETS,)
    if targets.shape != expected:
        raise BadSampleFile(
            path, targets_name, f"has the shape {targets.shape}; for these counts it should be {expected}."
        )
    return Layout(counts_name, targets_name, volumes, sides[0], many, channels_first)


def _names(file: h5py.File, path: Path) -> tuple[str, str]:
    for counts, targets in NAMES:
        if counts in file:
            if targets not in file:
                raise BadSampleFile(
                    path, targets, f"missing: the file has counts ('{counts}') without their parameters."
                )
            return counts, targets
    known = ", ".join(f"'{counts}' and '{targets}'" for counts, targets in NAMES)
    found = ", ".join(repr(name)[:40] for name in list(file)[:8]) or "nothing"
    raise BadSampleFile(path, "", f"holds {found}; counts and targets should be named {known}.")


def plain_dataset(file: h5py.File, path: Path, name: str) -> h5py.Dataset:
    """An array of plain numbers that lies in the file itself and is not larger than the file can hold.

    Raises:
        BadSampleFile: it is anything else.
    """
    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise BadSampleFile(path, name, "is a link to elsewhere; such links are not followed.")
    found = file[name]
    if not isinstance(found, h5py.Dataset) or found.dtype.kind not in "iuf":
        raise BadSampleFile(path, name, "is not an array of numbers.")
    if found.is_virtual or found.external:
        raise BadSampleFile(path, name, "has its data in another file; such data is not read.")
    properties = found.id.get_create_plist()
    if any(properties.get_filter(i)[0] not in _FILTERS for i in range(properties.get_nfilters())):
        raise BadSampleFile(path, name, "is compressed in a way that is not known here; only gzip is.")
    if found.chunks is not None and int(np.prod(found.chunks)) * found.dtype.itemsize > MOST_CHUNK_BYTES:
        raise BadSampleFile(path, name, f"has chunks of more than {MOST_CHUNK_BYTES >> 20} MB.")
    if found.size * found.dtype.itemsize > _MOST_PACKED * (found.id.get_storage_size() + 4096):
        raise BadSampleFile(path, name, f"claims the shape {found.shape}, far more than the file can hold.")
    return found


@dataclass(frozen=True)
class Parameters:
    """Names of the four targets and, where known, the values that -1 and 1 stand for."""

    names: tuple[str, ...] = ("parameter 1", "parameter 2", "parameter 3", "parameter 4")
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    @property
    def physical(self) -> bool:
        """Whether units are known."""
        return len(self.low) == TARGETS and len(self.high) == TARGETS


def parameters_in(file: h5py.File) -> Parameters:
    """What the file's attributes say of its targets (ours do); defaults where they say nothing usable."""
    default = Parameters()
    names = _attribute(file, "parameters", "S")
    texts = () if names is None else tuple(name.decode(errors="replace") for name in names.tolist())
    if not all(text.isprintable() and 0 < len(text) <= 40 for text in texts):
        texts = ()
    ranges: list[tuple[float, ...]] = []
    for name in ("low", "high"):
        bound = _attribute(file, name, "f")
        ranges.append(() if bound is None or not np.isfinite(bound).all() else tuple(bound.tolist()))
    return Parameters(texts or default.names, *ranges)


def write_parameters(file: h5py.File, parameters: Parameters) -> None:
    """Write what `parameters_in` reads."""
    texts = [name.encode() for name in parameters.names]
    file.attrs["parameters"] = np.array(texts, h5py.string_dtype("utf-8", max(map(len, texts))))
    if parameters.physical:
        file.attrs["low"], file.attrs["high"] = np.array(parameters.low), np.array(parameters.high)


def _attribute(file: h5py.File, name: str, kind: str) -> np.ndarray | None:
    """An attribute with one value for each target; None if it is anything else.

    Its type is looked at first: texts of any length lie in a heap of the file, and a damaged one makes the HDF5 library
    search without end.
    """
    if name not in file.attrs:
        return None
    described = file.attrs.get_id(name)
    sound = described.shape == (TARGETS,) and described.dtype.kind == kind and described.dtype.itemsize <= 400
    found = file.attrs[name] if sound else None
    return found if isinstance(found, np.ndarray) and found.dtype.kind == kind else None
