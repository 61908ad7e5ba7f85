"""Modelled sensors: between the published figures at rest and under load, and nothing where none is published."""

from __future__ import annotations

import pytest

from tremula.errors import Error
from tremula.hardware.catalogue import system
from tremula.machine.sensors import board_of, ipus_per_board, monitoring, sense, utilisation_shown


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GCDA_MONITOR", "GCDA_OPTIONS", "GCDA_SUPPRESS_UTILISATION_MEASUREMENT"):
        monkeypatch.delenv(name, raising=False)


def test_at_rest_and_under_load() -> None:
    machine = system("m2000").machine
    idle, _ = sense(system("m2000"), [0.0, 0.0])
    busy, _ = sense(system("m2000"), [1.0, 1.0])
    assert idle.board_watts is not None
    assert busy.board_watts is not None
    assert (idle.board_watts.value, busy.board_watts.value) == (
        machine.board_idle_watts,
        machine.board_busy_watts,
    )
    assert idle.die_celsius is not None
    assert busy.die_celsius is not None
    assert (idle.die_celsius.value, busy.die_celsius.value) == (
        machine.die_idle_celsius,
        machine.die_busy_celsius,
    )
    assert idle.clock_hz == busy.clock_hz == system("m2000").chip.clock_hz


def test_the_ipus_of_a_board_share_its_power() -> None:
    one, other = sense(system("bow2000"), [1.0, 0.0])
    assert one.ipu_watts is not None
    assert other.ipu_watts is not None
    assert one.board_watts is not None
    assert one.ipu_watts.value > other.ipu_watts.value
    assert one.ipu_watts.value + other.ipu_watts.value == pytest.approx(one.board_watts.value)
    assert one.board_watts == other.board_watts


def test_more_load_is_never_cooler() -> None:
    loads = [sense(system("bow2000"), [share, share])[0] for share in (0.0, 0.25, 0.5, 1.0)]
    watts = [each.board_watts.value for each in loads if each.board_watts]
    celsius = [each.die_celsius.value for each in loads if each.die_celsius]
    assert len(watts) == len(celsius) == 4
    assert watts == sorted(watts)
    assert celsius == sorted(celsius)


def test_every_reading_has_a_range_around_it() -> None:
    for name in ("m2000", "bow2000", "c2", "c600"):
        seen = sense(system(name), [0.0])[0]
        for reading in (seen.ipu_watts, seen.board_watts, seen.die_celsius, seen.board_celsius):
            assert reading is not None
            assert reading.low < reading.value < reading.high


def test_what_is_not_published_is_not_shown() -> None:
    busy = sense(system("c2"), [0.5, 0.5])[0]
    assert busy.board_watts is None
    assert busy.die_celsius is None
    assert sense(system("c600"), [0.5])[0].board_watts is not None


def test_boards() -> None:
    machine = system("bow-pod16").machine
    assert ipus_per_board(machine) == 2
    assert [board_of(ipu, machine) for ipu in range(6)] == [0, 0, 1, 1, 2, 2]
    assert ipus_per_board(system("c600").machine) == 1


def test_switching_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert monitoring()
    assert utilisation_shown()
    monkeypatch.setenv("GCDA_MONITOR", "0")
    assert not monitoring()
    assert sense(system("m2000"), [0.0])[0].board_watts is None
    monkeypatch.setenv("GCDA_OPTIONS", '{"enableMonitoring": "true", "monitorUtilisation": false}')
    assert monitoring()
    assert not utilisation_shown()
    monkeypatch.setenv("GCDA_OPTIONS", "{}")
    monkeypatch.setenv("GCDA_SUPPRESS_UTILISATION_MEASUREMENT", "1")
    assert not utilisation_shown()
    monkeypatch.setenv("GCDA_OPTIONS", '{"enableMonitoring": "perhaps"}')
    with pytest.raises(Error, match="enableMonitoring takes true or false"):
        monitoring()
