"""Virtual IPUs: who holds which, running out, rounding to powers of two."""

import pytest

from tremula.errors import Error
from tremula.machine.devices import Attachment, candidates, ipus_needed, model_only


@pytest.fixture
def four_ipus(monkeypatch):
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "4")
    monkeypatch.delenv("POPTORCH_IPU_MODEL", raising=False)
    monkeypatch.delenv("POPTORCH_SMALL_IPU_MODEL", raising=False)


def test_without_the_variable_there_is_only_a_model(monkeypatch):
    monkeypatch.delenv("TREMULA_VIRTUAL_IPUS", raising=False)
    assert model_only()
    attachment = Attachment(1000, hardware=False)
    attachment.attach()
    assert attachment.attached
    attachment.detach()


@pytest.mark.usefixtures("four_ipus")
def test_devices_run_out_and_come_back():
    held = [Attachment(1, hardware=True) for _ in range(4)]
    for attachment in held:
        attachment.attach()
    assert sorted(attachment.device.id for attachment in held) == [0, 1, 2, 3]
    late = Attachment(1, hardware=True)
    with pytest.raises(Error, match=r"Failed to acquire 1 IPU\(s\).*detachFromDevice"):
        late.attach()
    held[2].detach()
    late.attach()
    assert late.device.id == 2
    for attachment in [*held, late]:
        attachment.detach()


@pytest.mark.usefixtures("four_ipus")
def test_a_pair_excludes_its_members():
    pair = Attachment(2, hardware=True)
    pair.attach()
    single = Attachment(1, hardware=True)
    single.attach()
    assert not (pair.device.ipus & single.device.ipus)
    pair.detach()
    single.detach()


@pytest.mark.usefixtures("four_ipus")
def test_device_ids_are_distinct_over_sizes():
    ids = [device.id for size in (1, 2, 4) for device in candidates(size)]
    assert ids == list(range(7))


@pytest.mark.usefixtures("four_ipus")
def test_more_ipus_than_the_machine_has():
    with pytest.raises(Error, match=r"Failed to acquire 8 IPU\(s\): this machine has 4"):
        Attachment(8, hardware=True)


def test_hardware_is_reserved_in_powers_of_two():
    assert ipus_needed(4, round_up=False, hardware=True) == 4
    assert ipus_needed(3, round_up=True, hardware=True) == 4
    assert ipus_needed(3, round_up=False, hardware=False) == 3
    with pytest.raises(Error, match=r"use of 3 IPUs.*minimum of 4.*autoRoundNumIPUs"):
        ipus_needed(3, round_up=False, hardware=True)
    with pytest.raises(Error, match=r"Too many IPUs requested \(128\)"):
        ipus_needed(128, round_up=False, hardware=True)
