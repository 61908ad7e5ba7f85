"""A machine of its own for each test, and processes that hold its IPUs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tremula import log
from tremula.settings import VARIABLES

#: attaches, counts one call, tells its device and stays until its input is closed
_HOLDER = """
import sys
from tremula.machine.attach import Attachment
held = Attachment(int(sys.argv[1]), device_id=None if sys.argv[2] == "-" else int(sys.argv[2]), hardware=True)
held.attach()
held.meter.loaded(model="Net", tile_bytes=300_000, tile_memory_bytes=638_976)
held.meter.called(0.5, samples=16, sent=1_000_000, fetched=4_000, cycles=1.2e6, modelled_seconds=6e-4)
held.meter.write()
print("attached", held.device.id, flush=True)
sys.stdin.read()
"""

Holder = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders that nobody else uses, and one Bow-2000 with four IPUs."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable.name, raising=False)
    for name in ("COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("TREMULA_SYSTEM", "bow2000")
    log.forget_once()
    return tmp_path


@pytest.fixture
def holder(machine: Path) -> Iterator[Holder]:
    """Starts processes that hold a device of so many IPUs; they end with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(ipus: int = 1, device: int | None = None) -> subprocess.Popen[str]:
        script = machine / "train.py"
        script.write_text(_HOLDER)
        which = "-" if device is None else str(device)
        process = subprocess.Popen(
            [sys.executable, str(script), str(ipus), which],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("attached")
        return process

    yield start
    for process in started:
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        process.wait()
