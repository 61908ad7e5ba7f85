"""What tests of pipelines share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tensorflow.python import ipu

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def unconfigured() -> Iterator[None]:
    """Nothing is configured after a test."""
    yield
    ipu.config.reset_ipu_configuration()
