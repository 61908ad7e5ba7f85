"""HDF5 files of the science programs: events of CosmicTagger, universes of CosmoFlow."""

from __future__ import annotations

import contextlib
import random
import tempfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from fuzz.mutations import flip_bytes
from fuzz.target import Target


def make_events(folder: Path) -> list[Path]:
    """Three small events."""
    from cosmictagger.data import generate

    return [generate(folder / "events", 3, 3, shape=(128, 96), progress=False)]


def make_universes(folder: Path) -> list[Path]:
    """Four small universes."""
    from cosmoflow.data import GeneratedSamples, write_samples

    samples = GeneratedSamples(4, 8, 3)
    plain = write_samples(folder / "universes", samples, 4, parameters=samples.parameters)
    return [plain, write_samples(folder / "packed", samples, 4, parameters=samples.parameters, compress=True)]


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Bytes, mostly of the part that describes the rest; or datasets and attributes, by HDF5 itself."""
    if rng.random() < 0.6:
        head = rng.choice((1024, 4096, 1 << 15, len(data)))
        return flip_bytes(data[:head], rng) + data[head:]
    with tempfile.NamedTemporaryFile(suffix=".h5") as file:
        Path(file.name).write_bytes(data)
        with contextlib.suppress(Exception), h5py.File(file.name, "r+") as changed:
            for _ in range(rng.choice((1, 1, 3))):
                _change(changed, rng)
        return Path(file.name).read_bytes()


def _change(file: h5py.File, rng: random.Random) -> None:
    names: list[str] = []
    file.visit(names.append)
    name = rng.choice(sorted(names))
    found = file[name]
    kind = rng.randrange(7)
    if kind == 0:
        del file[name]
    elif kind == 1:
        del file[name]
        file[name] = rng.choice((h5py.SoftLink("/x"), h5py.ExternalLink("/etc/passwd", "/")))
    elif kind == 2 and isinstance(found, h5py.Dataset):
        del file[name]
        shape = rng.choice(((4096,) * 3 + (4,), (1 << 40,), (0,), (), (5, 4096, 4096, 4096, 4), (3, 3)))
        chunks = True if shape and 0 not in shape else None
        file.create_dataset(name, shape, dtype=rng.choice(("<i2", "<f8", "S5")), chunks=chunks)
    elif kind == 3 and isinstance(found, h5py.Dataset):
        del file[name]
        file[name] = rng.choice((1, "text", np.zeros(3), np.array([b"\xff"]), h5py.Empty("f4")))
    elif kind == 4:
        file.attrs[rng.choice(("parameters", "low", "high"))] = rng.choice(
            ("\x1b[2J", 1, np.zeros(4), b"\xff\xfe")
        )
    elif isinstance(found, h5py.Dataset) and found.size and found.ndim:
        rows = found[...]
        _overwrite(rows, rng)
        found[...] = rows


def _overwrite(rows: Any, rng: random.Random) -> None:
    view = rows.view(np.uint8).reshape(-1) if rows.flags.c_contiguous else rows
    for _ in range(rng.choice((1, 4, 64))):
        place = rng.randrange(len(view))
        view[place] = rng.choice((0, 1, 127, 128, 255))


def read_events(path: Path) -> None:
    """All events."""
    from cosmictagger.data import EventFile

    with contextlib.closing(EventFile(path)) as events:
        for number in range(min(len(events), 8)):
            events.read(number)
            events.counts(number)


def read_universes(path: Path) -> None:
    """Some samples."""
    from cosmoflow.data.reader import SampleFile

    with contextlib.closing(SampleFile(path)) as samples:
        for number in range(min(len(samples), 8)):
            samples.read(number)


def events_refused() -> tuple[type[BaseException], ...]:
    """The error of event files."""
    from cosmictagger.data import BadEventFile

    return (BadEventFile,)


def universes_refused() -> tuple[type[BaseException], ...]:
    """The error of sample files."""
    from cosmoflow.data.layout import BadSampleFile

    return (BadSampleFile,)


COSMICTAGGER = Target("cosmictagger", make_events, mutate, read_events, events_refused)
COSMOFLOW = Target("cosmoflow", make_universes, mutate, read_universes, universes_refused)
