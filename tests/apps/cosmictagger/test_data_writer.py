"""What is written comes back to the last bit, in the layout of the public files, or is not there at all."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import h5py
import numpy as np
import pytest
from cosmictagger.data import (
    EventFile,
    EventId,
    EventWriter,
    Generator,
    PredictionWriter,
    SyntheticEvents,
    at_voxels,
    densify,
)

SHAPE = (64, 32)

#: Paths, sizes of records and of chunks, as the public sample file has them.
LAYOUT = {
    "Events/event_id": (24, 100),
    "Data/sparse2d_sbndwire_group/extents": (16, 10),
    "Data/sparse2d_sbndwire_group/image_meta": (72, 100),
    "Data/sparse2d_sbndwire_group/voxel_extents": (16, 100),
    "Data/sparse2d_sbndwire_group/voxels": (16, 1000),
    "Data/sparse2d_sbnd_cosmicseg_group/extents": (16, 10),
    "Data/sparse2d_sbnd_cosmicseg_group/image_meta": (72, 100),
    "Data/sparse2d_sbnd_cosmicseg_group/voxel_extents": (16, 100),
    "Data/sparse2d_sbnd_cosmicseg_group/voxels": (16, 1000),
    "Data/cluster2d_sbndneutrino_group/extents": (16, 10),
    "Data/cluster2d_sbndneutrino_group/image_meta": (72, 100),
    "Data/cluster2d_sbndneutrino_group/projection_extents": (16, 100),
    "Data/cluster2d_sbndneutrino_group/cluster_extents": (16, 100),
    "Data/cluster2d_sbndneutrino_group/voxels": (16, 1000),
    "Data/particle_sbndneutrino_group/extents": (16, 100),
    "Data/particle_sbndneutrino_group/particles": (344, 500),
}


def test_events_come_back_to_the_last_bit(tmp_path: Path) -> None:
    """Enough of them that all tables are written in several pieces."""
    events = SyntheticEvents(150, 5, shape=SHAPE)
    with EventWriter(tmp_path / "events.h5") as writer:
        for event in events:
            writer.write(event)
        assert len(writer) == 150
    found = EventFile(tmp_path / "events.h5")
    assert len(found) == 150
    for one, other in zip(found, events, strict=True):
        for name in ("ids", "values", "labels", "offsets", "vertex"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
            assert getattr(one, name).dtype == getattr(other, name).dtype
        assert (one.shape, one.truth, one.event_id) == (other.shape, other.truth, other.event_id)


def test_the_layout_is_that_of_the_public_files(small_file: Path) -> None:
    with h5py.File(small_file) as file:
        found = {}
        file.visititems(
            lambda name, item: found.update({name: item}) if isinstance(item, h5py.Dataset) else None
        )
        assert {name: (item.dtype.itemsize, item.chunks[0]) for name, item in found.items()} == LAYOUT
        for item in found.values():
            assert (item.compression, item.compression_opts, item.maxshape) == ("gzip", 1, (None,))
        voxels = file["Data/sparse2d_sbndwire_group/voxels"].dtype
        assert [(name, voxels[name].str, voxels.fields[name][1]) for name in voxels.names] == [
            ("id", "<u8", 0),
            ("value", "<f4", 8),
        ]
        particle = file["Data/particle_sbndneutrino_group/particles"][0]
        assert particle["process"] == b"primary"
        assert (particle.dtype.fields["energy_init"][1], particle.dtype.fields["ancestor_vtx"][1]) == (
            184,
            312,
        )
        # a vertex is a square of nine pixels
        assert set(file["Data/cluster2d_sbndneutrino_group/cluster_extents"]["N"]) == {9}


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "events.h5"
    event = Generator(shape=SHAPE).event(0)
    with EventWriter(path) as writer:
        writer.write(event)
    before = path.read_bytes()

    def fail() -> None:
        with EventWriter(path) as again:
            again.write(event)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_is_not_there_before_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "events.h5"
    writer = EventWriter(path)
    writer.write(Generator(shape=SHAPE).event(0))
    assert not path.exists()
    writer.close()
    assert len(EventFile(path)) == 1
    with pytest.raises(ValueError, match=r"events.h5 is closed"):
        writer.write(Generator(shape=SHAPE).event(0))


def test_events_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with EventWriter(tmp_path / "events.h5") as writer:
        writer.write(Generator(shape=SHAPE).event(0))
        with pytest.raises(ValueError, match=r"event 1 has planes of \(32, 32\) pixels"):
            writer.write(Generator(shape=(32, 32)).event(0))
    with PredictionWriter(tmp_path / "found.h5") as found:
        event = Generator(shape=SHAPE).event(0)
        with pytest.raises(ValueError, match="classes have shape"):
            found.write(event, np.zeros(3))
        with pytest.raises(ValueError, match="must be 0, 1 or 2"):
            found.write(event, np.full(len(event.ids), 3))
        with pytest.raises(ValueError, match="if, and only if"):
            found.write(event, event.labels, np.zeros((len(event.ids), 3)))
        found.write(event, event.labels)
    with pytest.raises(ValueError, match="letters, digits and underscores"):
        PredictionWriter(tmp_path / "other.h5", "../outside")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events.h5", "found.h5"]


def test_memory_does_not_grow_with_the_events(tmp_path: Path) -> None:
    event = Generator(shape=SHAPE).event(0)
    tracemalloc.start()
    try:
        with EventWriter(tmp_path / "events.h5") as writer:
            for _ in range(100):
                writer.write(event)
            early = tracemalloc.get_traced_memory()[1]
            tracemalloc.reset_peak()
            for _ in range(400):
                writer.write(event)
            late = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # the pixels alone, were they kept, would take ten times as much
    assert late < early + 400 * len(event.ids) * 2 * 16 / 10, (early, late)


def test_predictions_are_a_group_of_the_same_kind(small_file: Path, tmp_path: Path) -> None:
    """As after inference: images of classes and of probabilities become sparse again."""
    path = tmp_path / "found.h5"
    source = EventFile(small_file)
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(3), (10, 3, 80, 128)).astype(np.float32).transpose(0, 1, 4, 2, 3)
    with PredictionWriter(path, "a21", probabilities=True) as writer:
        for event, image in zip(source, probabilities, strict=True):
            writer.write(event, at_voxels(event, image.argmax(axis=1), 1), at_voxels(event, image, 1))
    found = EventFile(path, labels="a21")
    neutrino = EventFile(path, charge="a21_neutrino", labels=None)
    for number, event in enumerate(source):
        np.testing.assert_array_equal(found[number].ids, event.ids)
        np.testing.assert_array_equal(found[number].values, event.values)
        assert found[number].event_id == event.event_id == EventId(3, 0, number)
        wires, ticks = event.wires_and_ticks()
        planes = np.repeat(np.arange(3), event.counts)
        rows = probabilities[number][planes, :, ticks // 2, wires // 2]
        np.testing.assert_array_equal(found[number].labels, rows.argmax(axis=1))
        np.testing.assert_array_equal(neutrino[number].values, rows[:, 2])


def test_a_perfect_prediction_gives_the_labels_back(small_file: Path, tmp_path: Path) -> None:
    event = EventFile(small_file)[0]
    label = densify(event)[1]
    assert label is not None
    with PredictionWriter(tmp_path / "found.h5") as writer:
        writer.write(event, at_voxels(event, label))
    np.testing.assert_array_equal(
        EventFile(tmp_path / "found.h5", labels="prediction")[0].labels, event.labels
    )
