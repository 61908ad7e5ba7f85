"""The networks that are written twice have the sizes that both are held to: here those of torch."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch

ROOT = Path(__file__).parents[2]
SIZES: dict[str, dict[str, int]] = tomllib.loads((ROOT / "benchmarks" / "networks.toml").read_text())


@pytest.fixture
def networks(benchmark: Any) -> Any:
    return benchmark("networks_torch").NETWORKS


def test_all_networks_are_there(networks: Any) -> None:
    assert set(networks) == set(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_a_network_has_the_size_of_the_other_one(name: str, networks: Any) -> None:
    with torch.device("meta"):
        model, inputs, optimizer = networks[name]()
        _, loss = model(*inputs)
    parameters = sum(weight.numel() for weight in model.parameters())
    assert parameters == SIZES[name]["parameters"] + SIZES[name].get("torch_more", 0)
    assert {len(tensor) for tensor in inputs} == {SIZES[name]["batch"]}
    assert loss.shape == ()
    assert sum(weight.numel() for group in optimizer.param_groups for weight in group["params"]) == parameters
