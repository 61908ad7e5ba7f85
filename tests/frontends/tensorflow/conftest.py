"""Tests of the TensorFlow front end: they run where TensorFlow is installed, by `make test-tensorflow`.

Those of the rules need no TensorFlow: they build captured nodes by hand.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

if importlib.util.find_spec("tensorflow") is None:
    collect_ignore = [path.name for path in Path(__file__).parent.iterdir() if path.name != "rules"]


@pytest.fixture(autouse=True)
def no_faults_of_the_chip_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chip model looks at every program that these tests run: a fault of it only warns, and fails the test here."""
    from tremula import log

    warn_once = log.warn_once

    def check(key: str, message: str) -> bool:
        told = warn_once(key, message)
        if os.environ.get("TREMULA_TEST_FAULTS") != "expected":
            assert "The chip model cannot" not in message, message
        return told

    monkeypatch.setattr(log, "warn_once", check)
