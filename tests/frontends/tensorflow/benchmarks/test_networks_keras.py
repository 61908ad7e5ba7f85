"""The networks that are written twice have the sizes that both are held to: here those of Keras."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorflow.python import ipu

ROOT = Path(__file__).parents[4]
SIZES: dict[str, dict[str, int]] = tomllib.loads((ROOT / "benchmarks" / "networks.toml").read_text())


@pytest.fixture
def networks(benchmark: Any) -> Any:
    return benchmark("networks_keras").NETWORKS


def test_all_networks_are_there(networks: Any) -> None:
    assert set(networks) == set(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_a_network_has_the_size_of_the_other_one(name: str, networks: Any) -> None:
    with ipu.ipu_strategy.IPUStrategy().scope():
        model, batch, *_ = networks[name]()
    parameters = sum(math.prod(weight.shape) for weight in model.trainable_weights)
    assert (parameters, batch) == (SIZES[name]["parameters"], SIZES[name]["batch"])


@pytest.mark.parametrize("name", ["mnist", "cosmoflow", "lstm"])
def test_a_network_trains(name: str, networks: Any) -> None:
    ipu.config.reset_ipu_configuration()
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 1
    config.configure_ipu_system()
    with ipu.ipu_strategy.IPUStrategy().scope():
        model, batch, loss, optimizer = networks[name]()
        model.compile(optimizer, loss)
        x = np.zeros((batch, *model.input_shape[1:]), model.inputs[0].dtype.as_numpy_dtype)
        y = np.zeros((batch, 4) if name == "cosmoflow" else (batch,), np.float32)
        history = model.fit(x, y, batch_size=batch, verbose=0).history
    ipu.config.reset_ipu_configuration()
    assert np.isfinite(history["loss"]).all()
