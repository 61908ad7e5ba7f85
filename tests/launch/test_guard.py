"""Nothing of a run stays, whichever of its processes is killed; signals and job control pass through both."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tremula.machine.reservation import reserve

if sys.platform != "linux":
    pytest.skip("elsewhere a launcher is one process", allow_module_level=True)

Start = Callable[..., Any]

#: has a process in a session of its own, one more whose parent has ended, and listens to no request to end
SCATTERED = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["sleep", "600"], start_new_session=True)
subprocess.run(["sh", "-c", "setsid sleep 600 >/dev/null 2>&1 &"], check=True)
print("ready", flush=True)
while True:
    time.sleep(600)
"""


def _stat(process: int) -> tuple[str, int]:
    """State and parent of a process."""
    text = Path(f"/proc/{process}/stat").read_text()
    state, parent = text[text.rfind(")") + 2 :].split()[:2]
    return state, int(parent)


def _worker(run: Any) -> int:
    """The process that the visible one has started."""
    for process in run.left():
        with contextlib.suppress(OSError):
            if _stat(process)[1] == run.process.pid:
                return process
    raise AssertionError("no worker")


def _await_state(process: int, stopped: bool) -> None:
    deadline = time.monotonic() + 20
    while (_stat(process)[0] == "T") != stopped:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("victim", ["visible", "group", "worker", "name"])
def test_whatever_is_killed_nothing_stays(start: Start, victim: str) -> None:
    run = start("--num-instances", "2", "--num-replicas", "2", program=SCATTERED, process_group=0)
    for _ in range(2):
        assert run.process.stdout.readline().endswith("ready\n")
    worker = _worker(run)
    deadline = time.monotonic() + 20
    while len(run.left()) != 7:  # the worker, and three processes of each instance
        assert time.monotonic() < deadline
        time.sleep(0.01)
    if victim == "visible":
        run.process.kill()
    elif victim == "group":
        os.killpg(run.process.pid, signal.SIGKILL)
    elif victim == "worker":
        os.kill(worker, signal.SIGKILL)
    else:  # as killall does
        name = Path(f"/proc/{run.process.pid}/comm").read_text()
        for process in (run.process.pid, worker):
            if Path(f"/proc/{process}/comm").read_text() == name:
                os.kill(process, signal.SIGKILL)
    code, _, err = run.finish()
    if victim == "worker":
        assert code == 128 + signal.SIGKILL
        assert "SIGKILL ended the launcher's worker process; all instances were stopped." in err
    else:
        assert code == -signal.SIGKILL
    assert run.all_gone(20)
    reservation = reserve(4)
    assert reservation is not None
    reservation.release()


def test_ctrl_z_stops_the_launcher_and_a_stopped_one_can_be_killed(start: Start) -> None:
    run = start(program=SCATTERED, process_group=0)
    assert run.process.stdout.readline().endswith("ready\n")
    worker = _worker(run)
    os.killpg(run.process.pid, signal.SIGTSTP)
    for process in (run.process.pid, worker):
        _await_state(process, stopped=True)
    os.killpg(run.process.pid, signal.SIGCONT)
    for process in (run.process.pid, worker):
        _await_state(process, stopped=False)
    os.killpg(run.process.pid, signal.SIGTSTP)
    _await_state(worker, stopped=True)
    run.process.kill()
    assert run.finish()[0] == -signal.SIGKILL
    assert run.all_gone(20)


def test_a_signal_to_both_processes_is_one(start: Start) -> None:
    """A name that fits both gets the instances the time to end that one signal does."""
    run = start(
        program="import signal, time\n"
        "def end(*_):\n    time.sleep(0.5)\n    print('saved', flush=True)\n    raise SystemExit(0)\n"
        "signal.signal(signal.SIGTERM, end)\nprint('ready', flush=True)\nwhile True: time.sleep(600)\n"
    )
    assert run.process.stdout.readline().endswith("ready\n")
    worker = _worker(run)
    run.process.send_signal(signal.SIGTERM)
    os.kill(worker, signal.SIGTERM)
    code, out, err = run.finish()
    assert code == 128 + signal.SIGTERM
    assert out.endswith("saved\n"), err
    assert run.left() == []


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130), (signal.SIGQUIT, -signal.SIGQUIT)],
)
def test_a_signal_before_anything_runs_ends_the_launcher_as_it_ends_one_process(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, code: int
) -> None:
    """The worker is held up at the import of torch."""
    (tmp_path / "torch.py").write_text(
        "import time\nfrom pathlib import Path\n"
        f"Path({str(tmp_path / 'reached')!r}).touch()\ntime.sleep(600)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background may ignore it
    try:
        run = start("true")
    finally:
        signal.signal(signal.SIGINT, before)
    deadline = time.monotonic() + 30
    while not (tmp_path / "reached").exists():
        assert time.monotonic() < deadline
        assert run.process.poll() is None
        time.sleep(0.01)
    run.process.send_signal(number)
    assert run.finish(20)[0] == code
    assert run.all_gone(20)
