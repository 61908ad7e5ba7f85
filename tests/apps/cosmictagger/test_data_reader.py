"""Files are read event by event, in any order, from any process, with the same few megabytes."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import h5py
import numpy as np
import pytest
from cosmictagger.data import (
    Event,
    EventFile,
    EventFiles,
    EventWriter,
    Generator,
    SyntheticEvents,
    Truth,
    generate,
    index,
)
from hypothesis import given, settings
from hypothesis import strategies as st


def same(one: Event, other: Event) -> bool:
    arrays = all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("ids", "values", "labels", "offsets", "vertex")
    )
    return arrays and (one.shape, one.truth, one.event_id) == (other.shape, other.truth, other.event_id)


def by_hand(path: Path, number: int) -> list[dict[int, tuple[float, float]]]:
    """The pixels of each plane, row by row from the tables: {id: (charge, label)}."""
    with h5py.File(path) as file:
        charge, labels = (file[f"Data/sparse2d_{name}_group"] for name in ("sbndwire", "sbnd_cosmicseg"))
        planes: list[dict[int, tuple[float, float]]] = [{}, {}, {}]
        first, count = charge["extents"][number]
        for row in range(int(first), int(first) + int(count)):
            begin, size, _ = charge["voxel_extents"][row]
            for at in range(int(begin), int(begin) + int(size)):
                pixel, value = charge["voxels"][at]
                planes[int(charge["image_meta"][row]["projection_id"])][int(pixel)] = (
                    float(value),
                    float(labels["voxels"][at]["value"]),
                )
    return planes


def test_events_are_those_that_the_tables_spell_out(tmp_path: Path) -> None:
    path = generate(tmp_path / "tiny.h5", 3, shape=(32, 32), cosmics=1, progress=False)
    with EventFile(path) as file:
        assert len(file) == 3
        assert file.shape == (32, 32)
        for number in range(3):
            event = file[number]
            for plane, wanted in enumerate(by_hand(path, number)):
                part = event.plane(plane)
                found = zip(event.ids[part], event.values[part], event.labels[part], strict=True)
                assert {int(pixel): (float(value), float(label)) for pixel, value, label in found} == wanted


def test_planes_go_by_their_projection_id(small_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "turned.h5"
    path.write_bytes(small_file.read_bytes())
    with h5py.File(path, "r+") as file:
        for kind, name in (
            ("sparse2d", "sbndwire"),
            ("sparse2d", "sbnd_cosmicseg"),
            ("cluster2d", "sbndneutrino"),
        ):
            group = file[f"Data/{kind}_{name}_group"]
            for table in ("image_meta", "voxel_extents", "projection_extents"):
                if table in group:
                    rows = group[table][:]
                    # the rows of each event, last plane first
                    group[table][:] = rows.reshape(-1, 3)[:, ::-1].ravel()
    turned, straight = EventFile(path), EventFile(small_file)
    assert all(same(turned[number], straight[number]) for number in range(10))


def test_truth_and_vertex_can_be_had_without_pixels(small_file: Path) -> None:
    file = EventFile(small_file)
    for number in (0, 9, -1):
        event = file[number]
        assert file.truth(number) == event.truth
        np.testing.assert_array_equal(file.vertex(number), event.vertex)
        assert file.event_id(number) == event.event_id
        assert file.counts(number).tolist() == event.counts.tolist()
    bare = file.read(0, with_truth=False)
    assert bare.truth is None
    assert bare.vertex is None
    np.testing.assert_array_equal(bare.ids, file[0].ids)


@pytest.mark.parametrize(
    ("pdg", "current", "words"),
    [
        (12, 0, ("nu_e", "CC", "nu_e")),
        (-14, 0, ("nu_mu", "CC", "nu_mu")),
        (14, 1, ("nu_mu", "NC", "NC")),
        (2212, -1, (None, None, None)),
    ],
)
def test_truth_speaks_of_flavour_and_current(pdg: int, current: int, words: tuple[str | None, ...]) -> None:
    truth = Truth(pdg, current, 1.0, (0.0, 0.0, 0.0))
    assert (truth.flavour, truth.current, truth.category) == words


def test_what_a_file_does_not_have_is_none(small_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "detector.h5"
    with EventWriter(path, labels=None, vertex=None, truth=None) as writer:
        for event in EventFile(small_file):
            writer.write(event)
    event = EventFile(path, labels=None)[0]
    assert (event.labels, event.vertex, event.truth) == (None, None, None)
    assert len(event.ids)


def test_events_without_a_neutrino_have_no_vertex_and_no_truth(tmp_path: Path) -> None:
    one, two = Generator(shape=(64, 32)).event(0), Generator(shape=(64, 32)).event(1)
    empty = Event(one.shape, one.ids[:0], one.values[:0], one.labels[:0], np.zeros(4, np.int64))
    with EventWriter(tmp_path / "some.h5") as writer:
        for event in (one, empty, two):
            writer.write(event)
    file = EventFile(tmp_path / "some.h5")
    assert same(file[0], one)
    assert same(file[1], empty)
    assert same(file[2], two)


def test_there_is_no_event_beyond_the_last(small_file: Path) -> None:
    with pytest.raises(IndexError, match=r"small.h5 has 10 events; there is no event 10"):
        EventFile(small_file)[10]
    with pytest.raises(IndexError):
        EventFiles(small_file)[-11]


@settings(max_examples=8)
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4), data=st.data())
def test_several_files_are_one_sequence(
    sizes: list[int], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("several")
    first = 0
    for number, size in enumerate(sizes):
        path = folder / f"part{number}.h5"
        generate(path, size, 1, shape=(16, 16), cosmics=0, first=first, progress=False)
        first += size
    files, wanted = EventFiles(folder), SyntheticEvents(first, 1, shape=(16, 16), cosmics=0)
    assert len(files) == first
    number = data.draw(st.integers(-first, first - 1))
    assert same(files[number], wanted[number])
    files.close()


def test_many_files_are_not_all_open_at_once(tmp_path: Path) -> None:
    paths = [
        generate(tmp_path / f"{number:02}.h5", 1, number, shape=(16, 16), cosmics=0, progress=False)
        for number in range(20)
    ]
    files = EventFiles(paths)
    assert [files.event_id(number).run for number in range(20)] == list(range(20))
    assert sum(file._state is not None for file in files.files) == 16
    assert files.event_id(0).run == 0


def test_files_that_do_not_fit_together_are_refused(small_file: Path, tmp_path: Path) -> None:
    other = generate(tmp_path / "other.h5", 1, shape=(64, 32), progress=False)
    with pytest.raises(ValueError, match=r"other.h5: has planes of \(64, 32\)"):
        EventFiles([small_file, other])
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="No event files"):
        EventFiles(tmp_path / "empty")


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_processes_open_the_file_for_themselves(small_file: Path, method: str) -> None:
    file = EventFile(small_file)
    wanted = [event.values for event in file]  # the file is open here
    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        found = [pool.submit(file.read, number).result(timeout=90) for number in (2, 7)]
    np.testing.assert_array_equal(found[0].values, wanted[2])
    np.testing.assert_array_equal(found[1].values, wanted[7])
    np.testing.assert_array_equal(file[0].values, wanted[0])


def test_a_reader_survives_pickling(small_file: Path) -> None:
    file = EventFiles(small_file)
    one = file[4]
    assert same(pickle.loads(pickle.dumps(file))[4], one)  # noqa: S301  our own bytes


def test_threads_may_share_a_reader(small_file: Path) -> None:
    file = EventFile(small_file)
    wanted = [event.values.sum() for event in file]
    found: list[list[float]] = []
    threads = [
        threading.Thread(target=lambda: found.append([event.values.sum() for event in file]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 4


def _peak(path: Path) -> int:
    """Most memory in use while all events of a file are read, one by one."""
    tracemalloc.start()
    try:
        for event in EventFile(path):
            del event
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "BLOCK", 16)
    monkeypatch.setattr(index, "KEPT_BLOCKS", 2)
    one = Generator(shape=(256, 160), cosmics=4).event(0)
    peaks = []
    for events in (40, 160):
        path = tmp_path / f"{events}.h5"
        with EventWriter(path) as writer:
            for _ in range(events):
                writer.write(one)
        peaks.append(_peak(path))
    # the pixels of the further events, were they kept, would take ten times as much
    assert peaks[1] < peaks[0] + 120 * len(one.ids) * 17 / 10, peaks


def test_only_so_many_blocks_of_the_index_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "KEPT_BLOCKS", 2)
    made = []

    def make(first: int, last: int) -> tuple[int, int]:
        made.append((first, last))
        return first, last

    blocks = index.Blocks(700, make)
    assert [blocks.of(number) for number in (0, 255, 699)] == [
        ((0, 256), 0),
        ((0, 256), 255),
        ((512, 700), 187),
    ]
    blocks.of(3)
    blocks.of(300)  # the block that was used longest ago goes
    blocks.of(0)
    assert made == [(0, 256), (512, 700), (256, 512)]
