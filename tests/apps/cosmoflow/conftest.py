"""What the tests of CosmoFlow share: small files of generated universes and a command line that trains on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

#: side of the small universes
SIDE = 8


@pytest.fixture(autouse=True)
def quick_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """One form of execution, so that bits repeat; no figures of the chip, which take a moment."""
    monkeypatch.setenv("TREMULA_EXECUTION", "quick")
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "asked")


@pytest.fixture(scope="session")
def small_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty-four generated universes of 8^3 voxels. Not to be changed."""
    from cosmoflow.data import GeneratedSamples, write_samples

    samples = GeneratedSamples(24, SIDE, 3)
    return write_samples(
        tmp_path_factory.mktemp("universes") / "small.h5", samples, 24, parameters=samples.parameters
    )


@pytest.fixture
def words(small_file: Path, tmp_path: Path) -> list[str]:
    """Settings of a tiny run."""
    return [
        f"output={tmp_path / 'run'}", "network.variant=demo", f"network.size={SIDE}", "network.conv_size=4",
        "network.layers=2", "data.source=files", f"data.train={small_file}", f"data.validation={small_file}",
        f"data.test={small_file}", "device.batch=4", "train.epochs=2", "train.optimizer=adam", "train.rate=0.005",
        "train.rate_batch=0", "train.warmup=0", "inference.after_training=false", "inference.bootstrap=50",
    ]  # fmt: skip


@pytest.fixture
def settings(words: list[str]) -> Callable[..., Any]:
    """Makes the settings of a tiny run, with changes."""
    from cosmoflow.config import load

    return lambda *changes: load("gc64", [*words, *changes])
