"""Generated events: always the same for a seed, one event in three views, and something to learn in them."""

from __future__ import annotations

import hashlib
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from cosmictagger.data import Event, EventFile, Generator, SyntheticEvents, generate
from cosmictagger.data.generate import Physics
from cosmictagger.data.generate.constants import Particles
from cosmictagger.data.generate.readout import Scale, project
from cosmictagger.data.generate.tracks import range_of
from hypothesis import given, settings
from hypothesis import strategies as st

SHAPE = (256, 160)


def digest(event: Event) -> str:
    found = hashlib.sha256()
    for array in (event.ids, event.values, event.labels, event.offsets, event.vertex):
        found.update(np.ascontiguousarray(array).tobytes())
    found.update(repr((event.truth, event.event_id)).encode())
    return found.hexdigest()


def make(seed: int, number: int) -> str:
    return digest(Generator(seed, SHAPE).event(number))


@settings(max_examples=15)
@given(seed=st.integers(0, 2**40), number=st.integers(0, 2**40))
def test_an_event_depends_on_seed_and_number_alone(seed: int, number: int) -> None:
    one = make(seed, number)
    np.random.default_rng().random(3)
    Generator(seed, SHAPE).event(number + 1)
    assert make(seed, number) == one
    assert make(seed, number + 1) != one
    assert make(seed + 1, number) != one


def test_order_count_cache_and_process_do_not_matter(tmp_path: Path) -> None:
    wanted = [make(7, number) for number in range(6)]
    few = SyntheticEvents(3, 7, shape=SHAPE, cache=2)
    assert [digest(few[number]) for number in (2, 0, 1, 0, 2, -1)] == [wanted[i] for i in (2, 0, 1, 0, 2, 2)]
    assert [digest(event) for event in SyntheticEvents(3, 7, shape=SHAPE, first=3)] == wanted[3:]
    path = generate(tmp_path / "events.h5", 2, 7, shape=SHAPE, first=4, progress=False)
    assert [digest(event) for event in EventFile(path)] == wanted[4:]
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        assert digest(pool.submit(few.read, 1).result(timeout=90)) == wanted[1]


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return list(SyntheticEvents(40, 11, shape=SHAPE))


def test_all_classes_are_there_and_pixels_are_in_order(events: list[Event]) -> None:
    for event in events:
        assert event.labels is not None
        for plane in range(3):
            part = event.plane(plane)
            assert (np.diff(event.ids[part]) > 0).all()
            assert event.ids[part].min() >= 0
            assert event.ids[part].max() < SHAPE[0] * SHAPE[1]
            assert set(np.unique(event.labels[part])) == {0, 1, 2}, event.event_id
        assert event.values.min() > 5.0
        assert event.values.max() <= 2800.0
        assert event.values.dtype == np.float32


def test_planes_agree_on_the_vertex_and_the_neutrino_is_near_it(events: list[Event]) -> None:
    """One event in three dimensions: the same tick in all planes, and pixels of the neutrino close by."""
    for event in events:
        assert event.vertex is not None
        assert event.labels is not None
        assert event.truth is not None
        assert len(set(event.vertex[:, 1].tolist())) == 1
        ticks, *planes = project(Physics(), Scale.of(Physics(), SHAPE), np.array([event.truth.position]))
        wires, hit_ticks = event.wires_and_ticks()
        for plane in range(3):
            np.testing.assert_array_equal(event.vertex[plane], np.floor([planes[plane][0], ticks[0]]))
            part = event.plane(plane)
            neutrino = event.labels[part] == 2
            away = np.hypot(
                wires[part][neutrino] - event.vertex[plane, 0],
                hit_ticks[part][neutrino] - event.vertex[plane, 1],
            )
            assert away.min() <= 3, event.event_id


def test_planes_agree_on_when_a_neutrino_was_seen(events: list[Event]) -> None:
    """Ticks that one plane sees the neutrino at are, but for faint edges, those of the others."""
    for event in events:
        _, ticks = event.wires_and_ticks()
        assert event.labels is not None
        seen = [
            set(ticks[event.plane(plane)][event.labels[event.plane(plane)] == 2].tolist())
            for plane in range(3)
        ]
        assert len(seen[0] & seen[1] & seen[2]) >= 0.6 * len(seen[0] | seen[1] | seen[2]), event.event_id


def test_the_geometry_is_that_of_the_public_file() -> None:
    """True positions of that file, and the pixels at which it marks them as vertices."""
    known = {
        (0.879671, -43.832416, 472.893415): [(1522, 640), (1269, 641), (1766, 640)],
        (-59.371384, 132.300561, 250.181128): [(642, 449), (1406, 450), (1024, 450)],
        (-45.808711, -157.752434, 252.352799): [(1483, 492), (573, 493), (1031, 494)],
        (155.263418, 84.985414, 77.656046): [(491, 1134), (982, 1135), (449, 1134)],
        (123.273306, 171.499088, 397.792084): [(775, 1032), (1765, 1033), (1516, 1031)],
    }
    ticks, *planes = project(Physics(), Scale.of(Physics(), (2048, 1280)), np.array(list(known)))
    for number, marked in enumerate(known.values()):
        for plane, (wire, tick) in enumerate(marked):
            assert abs(np.floor(planes[plane][number]) - wire) <= 1
            assert abs(np.floor(ticks[number]) - tick) <= 2


def test_charge_and_occupancy_are_like_those_of_the_public_file() -> None:
    """Full size; bounds are wide, as single events differ."""
    events = list(SyntheticEvents(12, 2))
    occupancy = [event.occupancy for event in events]
    assert 0.003 < np.median(occupancy) < 0.010
    values = np.concatenate([event.values for event in events])
    labels = np.concatenate([event.labels for event in events])
    medians = [np.median(values[labels == label]) for label in range(3)]
    # the public file: 5.7, 42 and 36
    assert 5.2 < medians[0] < 7
    assert 20 < medians[1] < 70
    assert 20 < medians[2] < 70
    assert 300 < values.max() <= 2800
    shares = np.bincount(labels, minlength=3) / len(labels)
    # the public file: 0.54, 0.37 and 0.09
    assert 0.35 < shares[0] < 0.75
    assert 0.15 < shares[1] < 0.55
    assert 0.03 < shares[2] < 0.25


def test_neutrino_and_cosmic_pixels_can_be_told_apart(events: list[Event]) -> None:
    """Not by charge alone: by place. Neutrinos are compact around a vertex, muons go through."""
    spans: dict[int, list[float]] = {1: [], 2: []}
    for event in events:
        assert event.labels is not None
        wires, _ = event.wires_and_ticks()
        part = event.plane(0)
        for label in (1, 2):
            spans[label].append(float(np.ptp(wires[part][event.labels[part] == label])))
    assert np.median(spans[2]) < 0.7 * np.median(spans[1])


def test_truth_covers_flavours_currents_and_energies() -> None:
    truths = [event.truth for event in SyntheticEvents(150, 5, shape=(32, 16), cosmics=0)]
    assert {truth.category for truth in truths if truth} == {"nu_e", "nu_mu", "NC"}
    energies = [truth.energy for truth in truths if truth]
    assert min(energies) >= 0.2
    assert max(energies) <= 4.0
    assert max(energies) > 2 * np.median(energies)


def test_more_energy_makes_more_pixels() -> None:
    events = list(SyntheticEvents(120, 6, shape=SHAPE, cosmics=0))
    energies = np.array([event.truth.energy for event in events if event.truth])
    pixels = np.array([(event.labels == 2).sum() for event in events])
    high = energies > np.median(energies)
    assert pixels[high].mean() > 1.5 * pixels[~high].mean()


def test_without_cosmics_there_are_none() -> None:
    event = Generator(1, SHAPE, cosmics=0).event(0)
    assert event.labels is not None
    assert not (event.labels == 1).any()


def test_ranges_follow_from_the_energy_loss() -> None:
    """A 200 MeV proton goes about 26 cm in argon, a 1 GeV muon more than four metres."""
    argon = Particles()
    assert range_of(200, argon.proton_loss, argon.minimum_loss) == pytest.approx(26, rel=0.1)
    assert range_of(1000, argon.muon_loss, argon.minimum_loss) == pytest.approx(440, rel=0.1)


@pytest.mark.parametrize(
    "arguments", [{"seed": -1}, {"shape": (8, 160)}, {"shape": (10**6, 16)}, {"cosmics": 1000}]
)
def test_impossible_settings_are_refused(arguments: dict) -> None:
    with pytest.raises(ValueError, match="must be"):
        Generator(**arguments)


def test_generating_shows_a_bar(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generate(tmp_path / "events.h5", 2, shape=(32, 16), cosmics=0)
    assert "Generating events" in capsys.readouterr().err
    with pytest.raises(ValueError, match="number of events and of processes must be 1"):
        generate(tmp_path / "none.h5", 0)
