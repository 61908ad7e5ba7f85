"""What tests of Keras models share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture
def on_ipus() -> Iterator[Callable[[int], Any]]:
    """Configures so many IPUs and gives a strategy for them; they are free again after the test."""
    from tensorflow.python import ipu

    def configured(count: int = 1) -> Any:
        ipu.config.reset_ipu_configuration()
        config = ipu.config.IPUConfig()
        config.auto_select_ipus = count
        config.configure_ipu_system()
        return ipu.ipu_strategy.IPUStrategy()

    yield configured
    ipu.config.reset_ipu_configuration()
