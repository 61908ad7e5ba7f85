"""Each test begins and ends without a configuration."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tremula import log
from tremula.frontends.tensorflow import random_seed
from tremula.frontends.tensorflow.config.configure import reset_ipu_configuration


@pytest.fixture(autouse=True)
def unconfigured(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("TF_POPLAR_FLAGS", raising=False)
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "16")
    reset_ipu_configuration()
    log.forget_once()
    yield
    reset_ipu_configuration()
    random_seed.forget()
