"""Simulated faults: at the use that was asked for, as the error that programs catch, and over with the next use."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tremula.errors import Error, RecoverableError, UnrecoverableError
from tremula.machine import events, faults
from tremula.machine.faults import Injector
from tremula.machine.occupancy import Occupancy, current_occupancy
from tremula.settings.gcda import SOC_ERRORS

Ask = Callable[..., Injector]


@pytest.fixture
def ask(machine: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Sets GCDA_OPTIONS and gives what a program that is started now would have."""
    monkeypatch.delenv("IPU_APP_EVENT_RECORD_PATH", raising=False)

    def options(errors: str = "IPUSOFTERR", count: int = 1, **more: object) -> Injector:
        faults._injectors.clear()  # as in a process that begins
        given = {"simulateSOCError.errorList": errors, "simulateSOCError.triggerCount": count}
        given |= {f"simulateSOCError.{name}": value for name, value in more.items()}
        monkeypatch.setenv("GCDA_OPTIONS", json.dumps(given))
        found = faults.injector()
        assert found is not None
        return found

    return options


def occupancy() -> Occupancy:
    found = current_occupancy()
    assert found is not None
    return found


def test_without_options_nothing_fails(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GCDA_OPTIONS", raising=False)
    assert faults.injector() is None
    monkeypatch.setenv("GCDA_OPTIONS", '{"enableMonitoring": "true"}')
    assert faults.injector() is None
    assert not list(machine.rglob("faults.json"))


def test_the_use_that_was_asked_for_fails(ask: Ask) -> None:
    injector = ask(count=3)
    injector.on_use([0])
    injector.on_use([0])
    with pytest.raises(RecoverableError) as caught:
        injector.on_use([0])
    assert caught.value.recovery_action == "IPU_RESET"
    assert caught.value.type == "poplar_recoverable_runtime_error"
    assert "[Recovery action: IPU_RESET] CIUERRVR.IPUSOFTERR error on IPU 0" in caught.value.message
    assert "IPU will be reset the next time a program is executed." in caught.value.message
    assert faults.error_states(occupancy()) == {0: "IPUSOFTERR"}
    for _ in range(5):  # the next use resets the device, and the fault does not come back
        injector.on_use([0])
    assert faults.error_states(occupancy()) == {}


def test_rearmed_by_the_reset(ask: Ask) -> None:
    injector = ask(count=2, rearmOnReset=True)
    for _ in range(3):
        injector.on_use([1])
        with pytest.raises(RecoverableError):
            injector.on_use([1])


def test_another_process_finds_it_over_unless_it_is_rearmed(ask: Ask) -> None:
    with pytest.raises(RecoverableError):
        ask(count=1).on_use([0])
    again = ask(count=1)
    again.on_use([0])
    again.on_use([0])
    with pytest.raises(RecoverableError):
        ask(count=1, rearmOnReset=True).on_use([0])
    with pytest.raises(RecoverableError):
        ask(count=1, rearmOnReset=True).on_use([0])


def test_a_process_counts_on_when_it_takes_the_device_again(ask: Ask) -> None:
    ask(count=3).on_use([0])
    again = faults.injector()
    assert again is not None
    again.on_use([0])
    again = faults.injector()
    assert again is not None
    with pytest.raises(RecoverableError):
        again.on_use([0])
    faults.reset(occupancy(), [0])
    again = faults.injector()
    assert again is not None
    again.on_use([0])
    again.on_use([0])
    with pytest.raises(RecoverableError):
        again.on_use([0])


def test_gc_reset_makes_it_as_new(ask: Ask) -> None:
    with pytest.raises(RecoverableError):
        ask().on_use([2])
    assert not faults.reset(occupancy(), [0, 1])
    assert faults.reset(occupancy(), [2])
    with pytest.raises(RecoverableError):
        ask().on_use([2])


def test_a_fault_that_nothing_helps_against(ask: Ask) -> None:
    injector = ask("IPU_MEMORY_FAILURE", count=2)
    injector.on_use([0, 1])
    for _ in range(2):
        with pytest.raises(UnrecoverableError, match="error on IPU 0, 1"):
            injector.on_use([0, 1])
    with pytest.raises(UnrecoverableError):  # in the next process, at once
        ask("IPU_MEMORY_FAILURE", count=2).on_use([0, 1])
    faults.reset(occupancy(), [0, 1])
    ask("IPU_MEMORY_FAILURE", count=2).on_use([0, 1])


@pytest.mark.parametrize("name", SOC_ERRORS)
def test_every_known_error(name: str, ask: Ask) -> None:
    with pytest.raises((RecoverableError, UnrecoverableError)) as caught:
        ask(name.lower()).on_use([0])
    assert name in caught.value.message
    assert isinstance(caught.value, RecoverableError) == (name in faults.RECOVERY)


def test_several_errors_need_the_strongest_help(ask: Ask) -> None:
    with pytest.raises(RecoverableError) as caught:
        ask("IPUSOFTERR, HOST_LINK_DOWN").on_use([0])
    assert caught.value.recovery_action == "PARTITION_RESET"
    with pytest.raises(UnrecoverableError):
        ask("IPUSOFTERR IPU_MEMORY_FAILURE").on_use([0])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"simulateSOCError.errorList": "NOSUCH", "simulateSOCError.triggerCount": 1},
            "the errors are IPUSOFTERR",
        ),
        ({"simulateSOCError.errorList": "IPUSOFTERR"}, "triggerCount"),
        ({"simulateSOCError.errorList": "IPUSOFTERR", "simulateSOCError.triggerCount": 0}, "of 1 or more"),
        ({"simulateSOCError.errorList": "", "simulateSOCError.triggerCount": 1}, "errorList is empty"),
        ({"nosuch": 1}, "unknown option 'nosuch'; the options are configFile"),
    ],
)
@pytest.mark.usefixtures("machine")
def test_what_is_not_known_is_refused(
    options: dict[str, object], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GCDA_OPTIONS", json.dumps(options))
    with pytest.raises(Error, match="GCDA_OPTIONS") as caught:
        faults.injector()
    assert says in caught.value.message


@pytest.mark.usefixtures("machine")
def test_a_model_has_no_device_that_could_fail(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    ask()
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "0")
    assert faults.injector() is None


def test_a_record_for_monitoring_programs(ask: Ask, machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    injector = ask("IPU_MEMORY_FAILURE")
    monkeypatch.setenv("IPU_APP_EVENT_RECORD_PATH", str(machine / "events"))
    assert events.last() == {}
    with pytest.raises(UnrecoverableError):
        injector.on_use([3])
    found = events.last(str(machine / "events"))
    assert (found["severity"], found["specific ipus"], found["partition"]) == ("critical", "3", "p4")
    assert "IPU_MEMORY_FAILURE" in found["description"]
    with pytest.raises(RecoverableError):
        ask("IPUSOFTERR").on_use([0])
    assert "IPU_MEMORY_FAILURE" in events.last()["description"]  # what is less severe does not take its place


def test_a_real_process_that_recovers(machine: Path) -> None:
    script = """
from tremula.errors import RecoverableError
from tremula.machine import faults
injector = faults.injector()
done = 0
while done < 5:
    try:
        injector.on_use([0])
        done += 1
    except RecoverableError as error:
        print(error.recovery_action)
"""
    options = '{"simulateSOCError.errorList": "IPUSOFTERR", "simulateSOCError.triggerCount": 3}'
    environment = {
        "PATH": "/usr/bin:/bin",
        "GCDA_OPTIONS": options,
        "TREMULA_STATE_DIR": str(machine / "state"),
    }
    for said in ("IPU_RESET\n", ""):
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout == said
    assert "happens again only with" in done.stderr
