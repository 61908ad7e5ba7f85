"""A cache of its own for each test, and its warnings as a list."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tremula import log
from tremula.cache import Store, key_of

KEY = key_of({"model": "net"})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "cache", private_dir=tmp_path / "private")


@pytest.fixture
def said() -> Iterator[list[str]]:
    """The lines at INFO and above that our log writes during the test."""
    lines: list[str] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    layer = log.layer("tremula")
    keeper = Keeper()
    log.forget_once()
    with log.levels_restored():
        log.set_level("tremula", "INFO")
        layer.addHandler(keeper)
        yield lines
        layer.removeHandler(keeper)
    log.forget_once()


@pytest.fixture
def give_away(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Make a file or folder belong to somebody else; without the right to do so, become somebody else."""

    def give(path: Path) -> None:
        if os.getuid() == 0:
            os.chown(path, 54321, -1)
        else:
            somebody_else = os.getuid() + 1
            monkeypatch.setattr(os, "getuid", lambda: somebody_else)

    return give
