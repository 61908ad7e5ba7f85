"""A machine of its own for each test, and processes that hold its IPUs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

#: attaches as its arguments say, tells the id on stdout and stays until its stdin is closed
_HOLDER = """
import sys
from tremula.errors import Error
from tremula.machine.attach import Attachment

ipus, device_id = int(sys.argv[1]), int(sys.argv[2])
try:
    held = Attachment(ipus, device_id=None if device_id < 0 else device_id, hardware=True)
    held.attach()
except Error as error:
    print("refused", error.message.splitlines()[0], flush=True)
    sys.exit(3)
print("attached", held.device.id, flush=True)
sys.stdin.read()
"""

Holder = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """State and configuration folders that nobody else uses, and one Bow-2000 with four IPUs."""
    monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in (
        "TREMULA_OWN_SYSTEM",
        "TREMULA_VIRTUAL_IPUS",
        "POPTORCH_IPU_MODEL",
        "POPTORCH_SMALL_IPU_MODEL",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in ("IPUOF_VIPU_API_PARTITION_ID", "TREMULA_RESERVATION", "POPTORCH_WAIT_FOR_IPU"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TREMULA_SYSTEM", "bow2000")
    return tmp_path


@pytest.fixture
def holder() -> Iterator[Holder]:
    """Starts a process that attaches to `ipus` IPUs and holds them; all are gone after the test."""
    started: list[subprocess.Popen[str]] = []

    def start(ipus: int = 1, device_id: int = -1, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", _HOLDER, str(ipus), str(device_id)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()
