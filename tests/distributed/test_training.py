"""Several instances train one model: the same weights on all, and those that one process with all replicas gets."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tremula.frontends.torch.execute.buckets import Buckets

from .training_run import CASES, in_one

_SAMPLES = 16


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process runs as the instances do."""
    monkeypatch.setenv("TREMULA_EXECUTION", "quick")
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "0")
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "off")


@pytest.fixture(scope="module")
def two(run_once: Any) -> list[dict[str, Any]]:
    """Everything that two instances trained."""
    left: list[dict[str, Any]] = run_once("two", f"leave(in_instances(CASES, {_SAMPLES}))")
    return left


def _statistics(name: str) -> bool:
    return "running_" in name or "num_batches" in name


@pytest.mark.parametrize("name", CASES)
def test_weights_and_optimizer_state_are_the_same_bits_on_both(two: list[dict[str, Any]], name: str) -> None:
    first, second = (each[name]["state"] for each in two)
    assert first.keys() == second.keys()
    assert [key for key in first if not torch.equal(first[key], second[key]) and not _statistics(key)] == []
    assert any(key.endswith("weight") for key in first)


# An update that rounds at random draws from a stream of its own in several instances.
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.like_one])
def test_they_are_those_of_one_process_with_all_replicas(
    two: list[dict[str, Any]], quick: None, name: str
) -> None:
    alone = in_one(name, 2, _SAMPLES)
    found = two[0][name]["state"]  # statistics too: those of the first replica
    assert found.keys() == alone["state"].keys()
    for key, value in alone["state"].items():
        torch.testing.assert_close(found[key], value, rtol=1e-4, atol=1e-4, msg=key)
    losses = torch.cat([each[name]["losses"].reshape(5, -1) for each in two], 1)
    torch.testing.assert_close(
        losses.sort(1).values, alone["losses"].reshape(5, -1).sort(1).values, rtol=1e-4, atol=1e-4
    )


def test_norms_keep_the_statistics_of_their_own_instance(two: list[dict[str, Any]]) -> None:
    first, second = (each["batch norm"]["state"]["norm.running_mean"] for each in two)
    assert not torch.equal(first, second)


def test_each_instance_draws_its_own_dropout(two: list[dict[str, Any]]) -> None:
    first, second = (each["dropout"]["losses"] for each in two)
    assert not torch.equal(first, second)


@pytest.mark.slow
def test_four_instances_are_one_process_too(run: Any, quick: None) -> None:
    names = ["adam", "dropout", "several buckets"]
    finished = run(f"leave(in_instances({names}, {_SAMPLES}))", instances=4)
    assert [each.code for each in finished] == [0] * 4, finished[0].err
    for name in names:
        states = [each.left[name]["state"] for each in finished]
        assert all(torch.equal(state[key], states[0][key]) for state in states for key in state)
        for key, value in in_one(name, 4, _SAMPLES)["state"].items():
            torch.testing.assert_close(states[0][key], value, rtol=1e-4, atol=1e-4, msg=key)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["accumulation and iterations", "several buckets"])
def test_compiled_and_quick_instances_keep_the_same_weights(run: Any, name: str) -> None:
    """Instances choose their forms by themselves, and the forms round differently."""
    # it must not lose its race, or the compiled form would not be used
    script = f"""
    import tremula.frontends.torch.execute.trial as trial
    trial._race = lambda *_: 2.0
    leave(in_instances(["{name}"], {_SAMPLES}))
    """
    finished = run(script, each=lambda rank: {"TREMULA_EXECUTION": ("quick", "compiled")[rank]})
    assert [each.code for each in finished] == [0, 0], finished[1].err
    assert [each.left[name]["form"] for each in finished] == ["quick", "compiled"]
    first, second = (each.left[name]["state"] for each in finished)
    assert [key for key in first if not torch.equal(first[key], second[key])] == []


def test_accumulators_are_views_of_flat_memory() -> None:
    trained = [
        torch.zeros(3, 5),
        torch.zeros(7),
        torch.zeros(2, 4, 3, 3).to(memory_format=torch.channels_last),
    ]
    buckets = Buckets([[2, 1], [0]], trained, [torch.float32] * 3)
    for view, parameter in zip(buckets.views, trained, strict=True):
        assert (view.shape, view.stride()) == (parameter.shape, parameter.stride())
        assert view.data_ptr() % 64 == buckets.flat[0].data_ptr() % 64 or view.data_ptr() % 64 == 0
    for flat in buckets.flat:
        flat.fill_(6.0)
    buckets.divide(3.0)
    assert all(bool((view == 2.0).all()) for view in buckets.views)
    buckets.zero()
    assert not any(bool(view.any()) for view in buckets.views)
