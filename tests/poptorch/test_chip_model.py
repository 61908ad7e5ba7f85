"""What a wrapped model tells of the chip: cycles, latencies, whether it fits. All of it is modelled."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

import poptorch
from poptorch._deployment import deployment_of
from tremula.ask import estimate_of
from tremula.device.counters import latency
from tremula.schedule.deployment import Location


class Net(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.first = nn.Linear(16, width)
        self.wide = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.wide(torch.relu(self.first(x)))


def _ran(options: poptorch.Options, width: int = 32, batch: int = 4) -> poptorch.PoplarExecutor:
    model = poptorch.inferenceModel(Net(width), options)
    model(torch.randn(batch, 16))
    return model


@pytest.fixture
def small_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    """An IPU of four tiles, on which little fits."""
    monkeypatch.setenv("POPTORCH_SMALL_IPU_MODEL", "1")


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Callable[..., poptorch.Options]:
    """Options that count cycles, on a machine that shows IPUs."""
    monkeypatch.setenv("TREMULA_VIRTUAL_IPUS", "4")
    return lambda: poptorch.Options().logCycleCount(True)


def test_cycles_are_those_of_all_device_iterations(counting: Callable[..., poptorch.Options]) -> None:
    once = _ran(counting()).cycleCount()
    options = counting().deviceIterations(10)
    many = _ran(options, batch=40).cycleCount()
    assert once > 0
    assert 5 * once < many < 15 * once


def test_cycles_are_logged_for_each_run(
    counting: Callable[..., poptorch.Options], capfd: pytest.CaptureFixture[str]
) -> None:
    poptorch.setLogLevel("INFO")
    model = _ran(counting())
    poptorch.setLogLevel("WARN")
    assert f"Total number of IPU cycles: {model.cycleCount()}" in capfd.readouterr().err


def test_cycles_need_the_model(
    counting: Callable[..., poptorch.Options], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "off")
    model = _ran(counting())
    with pytest.raises(poptorch.Error, match="TREMULA_CHIP_MODEL=off"):
        model.cycleCount()


def test_latencies_are_modelled_and_repeatable() -> None:
    first, second = (_ran(poptorch.Options()).getLatency() for _ in range(2))
    assert first == second
    assert 0 < first[0] < 0.1


def test_the_parts_of_a_latency_sum_to_the_whole() -> None:
    model = _ran(poptorch.Options().deviceIterations(5), batch=20)
    parts = [model.getHostIpuLatency(), model.getComputeLatency(), model.getIpuHostLatency()]
    assert sum(part[2] for part in parts) == pytest.approx(model.getLatency()[2])


def test_without_the_model_latencies_are_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "off")
    model = _ran(poptorch.Options())
    clock = model._session.executable.times
    assert model.getPerfCounters()["input"] == [[round(clock.started[0], 3)]]


def test_a_program_that_does_not_fit_runs_after_a_warning(
    small_chip: None, capfd: pytest.CaptureFixture[str]
) -> None:
    model = poptorch.inferenceModel(Net(1024))
    result = model(torch.ones(4, 16))
    assert result.shape == (4, 1024)
    said = capfd.readouterr().err
    assert "Out of memory" in said
    assert "wide" in said  # the module that takes most
    assert "tiles only have 638976 bytes" in said


def test_running_out_of_memory_is_an_error_where_asked(
    small_chip: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREMULA_OUT_OF_MEMORY", "error")
    model = poptorch.inferenceModel(Net(1024))
    with pytest.raises(poptorch.Error, match="Out of memory") as caught:
        model.compile(torch.ones(4, 16))
    assert "wide" in str(caught.value)
    assert not model.isCompiled()


def test_the_engine_option_asks_for_it_too(small_chip: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", '{"debug.allowOutOfMemory": "false"}')
    with pytest.raises(poptorch.Error, match="Out of memory"):
        poptorch.inferenceModel(Net(1024)).compile(torch.ones(4, 16))


def test_a_program_that_fits_is_not_warned_about(capfd: pytest.CaptureFixture[str]) -> None:
    _ran(poptorch.Options())
    assert "memory" not in capfd.readouterr().err


def test_a_system_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_SYSTEM", "pod17")
    with pytest.raises(poptorch.Error, match="pod16"):
        _ran(poptorch.Options())


def test_a_system_too_small_for_the_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREMULA_VIRTUAL_IPUS")
    monkeypatch.setenv("TREMULA_SYSTEM", "pod4")
    with pytest.raises(
        poptorch.Error, match=r"8 IPU\(s\): this machine has 4.*pod4, chosen by TREMULA_SYSTEM"
    ):
        _ran(poptorch.Options().replicationFactor(8), batch=32)


def test_a_faster_chip_has_the_lower_latency(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = []
    for system in ("mk2", "bow"):
        monkeypatch.setenv("TREMULA_SYSTEM", system)
        computed.append(_ran(poptorch.Options()).getComputeLatency()[2])
    assert computed[1] < computed[0]


def test_modelling_can_wait_until_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_CHIP_MODEL", "asked")
    model = _ran(poptorch.Options())
    assert model._modelled.brief() == ""
    model.getLatency()
    assert "modelled" in model._modelled.brief()


def test_options_become_the_models_words() -> None:
    options = poptorch.Options()
    options.outputMode(poptorch.OutputMode.All)
    options.setAvailableMemoryProportion({"IPU1": 0.2})
    options.Precision.setPartialsType(torch.half)
    sharded = poptorch.TensorLocationSettings().useOnChipStorage(False).useReplicatedTensorSharding(True)
    options.TensorLocations.setOptimizerLocation(sharded.minElementsForOffChip(0))
    options.TensorLocations.numIOTiles(64)
    found = deployment_of(options, None, training=True)
    assert (found.proportion(0), found.proportion(1)) == (0.6, 0.2)
    assert found.partials == "fp16"
    assert found.optimizer_state == Location(on_chip=False, sharded=True, smallest_elements=0)
    assert found.weights == Location()
    assert found.io_tiles == 64
    assert (found.execution, found.recompute) == ("single", "none")


def test_every_figure_of_a_wrapped_model_can_be_asked_why() -> None:
    found = estimate_of(_ran(poptorch.Options()))
    text = str(found.explain("cycles_per_step"))
    assert "modelled" in text
    assert "source:" in text
    largest = max(found.ops, key=lambda op: op.cycles)
    assert f"{largest.cycles:,.0f} cycles" in str(found.explain(largest.path))


def test_figures_need_a_compiled_model() -> None:
    with pytest.raises(poptorch.Error, match="compile"):
        estimate_of(poptorch.inferenceModel(Net()))


def test_ops_say_which_module_of_the_user_they_belong_to() -> None:
    class Stack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = layer(x)
            return poptorch.identity_loss(x, "mean")

    stack, options = Stack(), poptorch.Options().disableModuleNamescope()
    model = poptorch.trainingModel(stack, options, poptorch.optim.SGD(stack.parameters(), lr=0.1))
    model.compile(torch.ones(2, 4))
    found = estimate_of(model)
    for phase in ("forward", "backward"):
        assert {"layers.0", "layers.1"} <= {op.module for op in found.ops if op.phase == phase}


def test_the_mean_of_equal_latencies_is_none_beside_them() -> None:
    steps = [0.1] * 3  # whose sum over three is a little more than 0.1
    counters = {"input": [[0.0, 0.0, 0.0]], "output": [steps]}
    least, most, mean = latency(counters, "input", min, "output", max)
    assert least <= mean <= most
