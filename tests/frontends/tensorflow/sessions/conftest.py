"""Each test of sessions starts without a configuration."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tensorflow.python import ipu


@pytest.fixture(autouse=True)
def unconfigured() -> Iterator[None]:
    yield
    ipu.config.reset_ipu_configuration()
