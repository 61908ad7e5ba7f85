"""The pytest plugin: fixtures that give a test virtual IPUs and caches of its own.

pytest loads it by itself where Tremula is installed (`-p no:tremula` turns it off). It imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def tremula_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty executable cache, used by this test alone."""
    folder = tmp_path / "tremula-cache"
    monkeypatch.setenv("TREMULA_CACHE_DIR", str(folder))
    for name in ("POPTORCH_CACHE_DIR", "POPART_CACHE_DIR", "POPXL_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def tremula_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Choose the virtual system of this test: `tremula_system("pod16", ipus=4)`.

    No other program shares its IPUs. Programs that the test starts see the same system.
    """
    from tremula.hardware import catalogue

    def choose(name: str, ipus: int | None = None) -> None:
        catalogue.system(name)  # an unknown name is an error that lists the known ones
        monkeypatch.setenv("TREMULA_SYSTEM", name)
        monkeypatch.setenv("TREMULA_STATE_DIR", str(tmp_path / "tremula-state"))
        if ipus is not None:
            monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", str(ipus))
        else:
            monkeypatch.delenv("TREMULA_VIRTUAL_IPUS", raising=False)

    return choose
