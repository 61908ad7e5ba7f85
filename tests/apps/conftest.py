"""What the tests of both science workloads share."""

from __future__ import annotations

import pytest

from tremula.distributed.host_run import HostRun
from tremula.scale.measure import MeasureSettings
from tremula.scale.row import Measured


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Command lines that would have run under poprun, which takes longer than most tests may."""
    asked: list[list[str]] = []

    def measure(subject: list[str], settings: MeasureSettings, *_: object, **__: object) -> Measured:
        asked.append([*subject, *settings.more_words])
        return Measured((HostRun(2, 3, 4, 0.1, 0.0, 0.0, 1e-3, True),), threads=1)

    monkeypatch.setattr("tremula.scale.measure.measure", measure)
    monkeypatch.setattr("tremula.scale.data_rate._SECONDS", 0.05)
    return asked
