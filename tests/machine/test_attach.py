"""Attaching: one process at a time, known to all of them, released however a process ends."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tremula import log
from tremula.errors import Error
from tremula.machine.attach import Attachment, ipus_needed
from tremula.machine.occupancy import current_occupancy, holders
from tremula.machine.reservation import reserve

pytestmark = pytest.mark.usefixtures("machine")


def said(process):
    return process.stdout.readline().split(maxsplit=1)


def test_devices_run_out_and_come_back():
    held = [Attachment(1, hardware=True) for _ in range(4)]
    for attachment in held:
        attachment.attach()
    assert sorted(attachment.device.id for attachment in held) == [0, 1, 2, 3]
    late = Attachment(1, hardware=True)
    with pytest.raises(Error, match=r"Failed to acquire 1 IPU\(s\)(?s:.*)detach"):
        late.attach()
    held[2].detach()
    late.attach()
    assert late.device.id == 2
    for attachment in [*held, late]:
        attachment.detach()


def test_a_pair_excludes_its_members():
    pair = Attachment(2, hardware=True)
    pair.attach()
    single = Attachment(1, hardware=True)
    single.attach()
    assert set(pair.device.ipus).isdisjoint(single.device.ipus)
    pair.detach()
    single.detach()


def test_more_ipus_than_the_machine_has():
    with pytest.raises(
        Error, match=r"Failed to acquire 8 IPU\(s\): this machine has 4.*TREMULA_SYSTEM=bow-pod16"
    ):
        Attachment(8, hardware=True)
    with pytest.raises(Error, match="device 0 does not have that many IPUs; devices with ids 4 to 5 do"):
        Attachment(2, device_id=0, hardware=True)


def test_hardware_is_reserved_in_powers_of_two():
    assert ipus_needed(4, round_up=False, hardware=True) == 4
    assert ipus_needed(3, round_up=True, hardware=True) == 4
    assert ipus_needed(3, round_up=False, hardware=False) == 3
    with pytest.raises(Error, match=r"use of 3 IPUs.*minimum of 4.*round up with the option"):
        ipus_needed(3, round_up=False, hardware=True)
    with pytest.raises(Error, match=r"Too many IPUs requested \(128\)"):
        ipus_needed(128, round_up=False, hardware=True)


def test_an_ipu_model_never_runs_out():
    attachment = Attachment(1000, hardware=False)
    attachment.attach()
    assert attachment.attached
    attachment.detach()


def test_a_device_that_another_process_holds_names_it(holder):
    other = holder(4)
    assert said(other) == ["attached", "6\n"]
    mine = Attachment(1, hardware=True)
    with pytest.raises(Error, match=rf"IPUs 0 to 3: process {other.pid} of ") as caught:
        mine.attach()
    told = caught.value.message
    assert "kill" not in told
    assert "POPTORCH_WAIT_FOR_IPU=1 waits until they are free" in told
    assert "TREMULA_OWN_SYSTEM=1 gives this program a separate system" in told
    other.stdin.close()
    other.wait()
    mine.attach()
    mine.detach()


def test_a_program_may_have_a_system_of_its_own(holder):
    """As the message for busy IPUs offers: one variable, and programs with another word do not meet."""
    assert said(holder(4))[0] == "attached"
    assert said(holder(1))[0] == "refused"
    assert said(holder(4, TREMULA_OWN_SYSTEM="1"))[0] == "attached"
    assert said(holder(1, TREMULA_OWN_SYSTEM="1"))[0] == "refused"
    assert said(holder(1, TREMULA_OWN_SYSTEM="2"))[0] == "attached"


def test_the_next_word_is_offered_where_a_system_of_ones_own_is_busy(holder, monkeypatch):
    monkeypatch.setenv("TREMULA_OWN_SYSTEM", "3")
    said(holder(4))
    with pytest.raises(Error, match=r"TREMULA_OWN_SYSTEM=4 gives this program"):
        Attachment(1, hardware=True).attach()


def test_a_process_in_its_own_way_is_offered_a_larger_system():
    first = Attachment(4, hardware=True)
    first.attach()
    with pytest.raises(Error, match=r"detach that one first\nA larger system has more") as caught:
        Attachment(1, hardware=True).attach()
    assert "TREMULA_OWN_SYSTEM" not in caught.value.message
    first.detach()


def test_kill_9_releases_the_device(holder):
    other = holder(4)
    said(other)
    other.send_signal(signal.SIGKILL)
    other.wait()
    mine = Attachment(4, hardware=True)
    mine.attach()
    mine.detach()


def test_waiting_for_a_device(holder, monkeypatch, capfd):
    other = holder(4)
    said(other)
    monkeypatch.setenv("POPTORCH_WAIT_FOR_IPU", "1")
    mine = Attachment(1, hardware=True)
    log.add_line_hook(other.kill)  # once it is told that the device is not free
    try:
        mine.attach()
    finally:
        log.remove_line_hook(other.kill)
    assert f"No IPU available, sleeping until 1 IPU(s) are free:\n  IPUs 0 to 3: process {other.pid}" in (
        capfd.readouterr().err
    )
    assert other.wait() == -signal.SIGKILL
    mine.detach()


def test_64_processes_attach_at_once(holder, monkeypatch):
    monkeypatch.setenv("TREMULA_SYSTEM", "bow-pod64")
    everyone = [holder() for _ in range(64)]
    answers = [said(each) for each in everyone]
    assert sorted(int(number) for _, number in answers) == list(range(64))
    late = holder()
    assert said(late)[0] == "refused"
    occupancy = current_occupancy()
    pids = {pid for pid, _, _ in holders(occupancy, list(range(64)))}
    assert pids == {each.pid for each in everyone}


def test_of_many_who_want_the_whole_machine_one_gets_it(holder):
    everyone = [holder(4) for _ in range(8)]
    assert sorted(said(each)[0] for each in everyone) == ["attached"] + ["refused"] * 7


def test_two_users_do_not_meet(holder, tmp_path, monkeypatch):
    monkeypatch.delenv("TREMULA_STATE_DIR")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    both = [holder(4, HOME=str(tmp_path / name)) for name in ("one", "two")]
    assert [said(each)[0] for each in both] == ["attached", "attached"]
    again = holder(4, HOME=str(tmp_path / "one"))
    assert said(again)[0] == "refused"


def test_two_systems_of_one_user_do_not_meet(holder):
    assert said(holder(4))[0] == "attached"
    assert said(holder(4, TREMULA_SYSTEM="pod16"))[0] == "attached"


def test_a_forked_child_neither_holds_nor_releases():
    mine = Attachment(4, hardware=True)
    mine.attach()
    child = subprocess.run(
        [sys.executable, "-c", _FORKS], capture_output=True, text=True, env=os.environ, check=False
    )
    assert child.stdout.split() == ["refused"]  # by us; what follows is about its own device
    mine.detach()
    child = subprocess.run(
        [sys.executable, "-c", _FORKS], capture_output=True, text=True, env=os.environ, check=False
    )
    assert child.stdout.split() == ["attached", "child-detached", "still-held", "released"]


_FORKS = """
import os, sys, time
from tremula.errors import Error
from tremula.machine.attach import Attachment
from tremula.machine.occupancy import current_occupancy
held = Attachment(4, hardware=True)
try:
    held.attach()
except Error:
    print("refused")
    sys.exit()
print("attached", flush=True)
child = os.fork()
if child == 0:
    held.detach()  # what a child's finalisers may do
    print("child-detached", flush=True)
    os._exit(0)
os.waitpid(child, 0)
child = os.fork()
if child == 0:
    occupancy = current_occupancy()
    print("still-held" if occupancy.locks.holder(0) == os.getppid() else "lost", flush=True)
    os._exit(0)
os.waitpid(child, 0)
held.detach()
child = os.fork()
if child == 0:
    print("released" if current_occupancy().locks.holder(0) is None else "kept", flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


def test_partitions_have_devices_of_their_own(holder, monkeypatch):
    from tremula.machine import systems
    from tremula.machine.partitions import create

    create(systems.current(), "left", 2, reconfigurable=True)
    create(systems.current(), "right", 2)
    assert said(holder(2, IPUOF_VIPU_API_PARTITION_ID="left")) == ["attached", "2\n"]
    assert said(holder(1, IPUOF_VIPU_API_PARTITION_ID="right"))[0] == "refused"  # not reconfigurable
    assert said(holder(2, IPUOF_VIPU_API_PARTITION_ID="right")) == ["attached", "2\n"]


def test_a_reservation_admits_those_who_carry_its_token(holder):
    with reserve(2) as reservation:
        assert reservation.device.id == 4
        assert said(holder(4))[0] == "refused"
        assert said(holder(1, 0))[0] == "refused"
        inside = holder(1, 0, TREMULA_RESERVATION=reservation.token)
        assert said(inside) == ["attached", "0\n"]
        with pytest.raises(Error, match=r"(?s)Failed to reserve 4 IPU\(s\).*reserved"):
            reserve(4)
        assert said(holder(2, 5))[0] == "attached"
    inside.kill()
    inside.wait()
    assert said(holder(1, 0))[0] == "attached"


def test_a_reservation_needs_free_ipus(holder):
    assert said(holder(1, 1))[0] == "attached"
    with reserve(2) as reservation:
        assert reservation.device.ipus == (2, 3)
    with pytest.raises(Error, match="no device of that size is free"):
        reserve(4)


def test_an_unusable_state_folder_is_explained(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "file"))
    with pytest.raises(Error, match="TREMULA_STATE_DIR"):
        Attachment(1, hardware=True)


def test_programs_of_a_read_only_home_share_virtual_ipus_in_a_temporary_folder(holder, tmp_path, monkeypatch):
    monkeypatch.delenv("TREMULA_STATE_DIR")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    (tmp_path / "home").write_text("")
    (tmp_path / "temporary").mkdir(mode=0o700)
    where = {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "temporary")}
    assert said(holder(4, **where))[0] == "attached"
    assert said(holder(4, **where))[0] == "refused"
    assert list((tmp_path / "temporary").glob("tremula-*/machine/*/*/holds"))


def test_the_machine_is_usable_after_its_folder_was_removed(machine):
    import shutil

    first = Attachment(1, hardware=True)
    first.attach()
    first.detach()
    shutil.rmtree(machine / "state")
    again = Attachment(4, hardware=True)
    again.attach()
    assert current_occupancy().usage(0).pid == os.getpid()
    again.detach()


def test_what_is_counted_is_seen_by_others(holder):
    other = holder(2)
    said(other)
    occupancy = current_occupancy()
    usage = occupancy.usage(0)
    assert (usage.pid, usage.device_id, usage.device_ipus) == (other.pid, 4, 2)
    assert abs(usage.attached_at - time.time()) < 60
    assert occupancy.usage(2) is None
