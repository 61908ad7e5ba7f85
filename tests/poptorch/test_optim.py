"""poptorch.optim: constructors, host use, state dictionaries, and how an optimizer is read for the device."""

from __future__ import annotations

import copy
import inspect
import logging
import pickle
from typing import Any

import pytest
import torch

from poptorch import optim
from poptorch._optimizer_attributes import OptimizerAttrTracker, convertOptimizerToDict
from poptorch._optimizer_spec import describe, to_spec
from poptorch.enums import MeanReductionStrategy
from poptorch.options import Options
from tremula.frontends.torch.optimize.spec import HyperValue, Kind, LossScaleSettings

EVERY = [optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.LAMB]
TORCH = [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop]


def weights() -> list[torch.nn.Parameter]:
    torch.manual_seed(1)
    return [torch.nn.Parameter(torch.randn(3, 2)), torch.nn.Parameter(torch.randn(3))]


def convert(
    optimizer: torch.optim.Optimizer,
    options: Options | None = None,
    tracker: OptimizerAttrTracker | None = None,
    is_compiled: bool = False,
) -> dict[str, Any]:
    options = options or Options()
    return convertOptimizerToDict(optimizer, tracker or OptimizerAttrTracker(options), options, is_compiled)


@pytest.mark.parametrize("kind", EVERY)
def test_base_classes(kind: type) -> None:
    expected = torch.optim.Optimizer if kind is optim.LAMB else getattr(torch.optim, kind.__name__)
    assert kind.__bases__ == (optim.Optimizer, expected)


@pytest.mark.parametrize("kind", EVERY[:4])
def test_positional_arguments_come_in_torchs_order(kind: type) -> None:
    theirs = [
        name
        for name, parameter in inspect.signature(kind.__bases__[1]).parameters.items()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        and name not in ("capturable", "foreach", "maximize")
    ]
    ours = [name for name in inspect.signature(kind).parameters if name in theirs]
    assert ours == theirs


@pytest.mark.parametrize("kind", EVERY[:4])
def test_host_step_is_torchs(kind: type) -> None:
    results = []
    for cls in (kind, kind.__bases__[1]):
        parameters = weights()
        optimizer = cls(parameters, lr=0.1, weight_decay=0.1)
        for _ in range(3):
            for parameter in parameters:
                parameter.grad = torch.ones_like(parameter)
            optimizer.step()
        results.append([p.detach() for p in parameters])
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("bias_correction", [True, False])
def test_lamb_steps_on_the_host(bias_correction: bool) -> None:
    parameters = weights()
    expected = [p.detach().clone() for p in parameters]
    optimizer = optim.LAMB(parameters, lr=0.1, max_weight_norm=1.0, bias_correction=bias_correction)
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    assert optimizer.step(lambda: 7.0) == 7.0
    first, second = (1.0, 1.0) if bias_correction else (0.1, 0.001)
    for actual, weight in zip(parameters, expected, strict=True):
        direction = first / (second**0.5 + 1e-8) + 0.01 * weight
        trust = weight.norm().clamp(max=1.0) / direction.norm()
        torch.testing.assert_close(actual.detach(), weight - 0.1 * trust * direction)


def test_given_arguments_are_variable() -> None:
    attributes = optim.SGD(weights(), lr=0.1, momentum=0.0).variable_attrs
    assert not attributes.isConstant("lr")
    assert not attributes.isConstant("momentum")
    assert attributes.isConstant("dampening")
    attributes.markAsVariable("dampening")
    assert not attributes.isConstant("dampening")
    attributes.markAsConstant("dampening")
    assert attributes.isConstant("dampening")
    with pytest.raises(AssertionError, match="nothing"):
        attributes.markAsVariable("nothing")


@pytest.mark.parametrize("kind", EVERY)
def test_accumulation_types_are_checked(kind: type) -> None:
    with pytest.raises(AssertionError, match="accum_type"):
        kind(weights(), lr=0.1, accum_type=torch.float64)


@pytest.mark.parametrize("kind", EVERY)
def test_state_dict_round_trip(kind: type) -> None:
    optimizer = kind(weights(), lr=0.1)
    empty = optimizer.state_dict()
    assert empty["ipu_state"] is None
    assert not optimizer.has_state()
    saved = {**empty, "ipu_state": {"Accl1___w": torch.ones(2)}, "ipu_param": {"x": torch.tensor(3.0)}}
    saved["param_groups"][0]["lr"] = 0.7
    optimizer.host_state_is_dirty = True
    optimizer.load_state_dict(saved)
    assert optimizer.has_state()
    assert optimizer.ipu_state_is_dirty
    assert not optimizer.host_state_is_dirty
    assert optimizer.param_groups[0]["lr"] == 0.7
    copy_of_it = optimizer.state_dict()
    assert torch.equal(copy_of_it["ipu_state"]["Accl1___w"], torch.ones(2))
    del copy_of_it["ipu_state"]["Accl1___w"]
    assert "Accl1___w" in optimizer.state_dict()["ipu_state"]


def test_foreign_states_are_refused_before_anything_changes() -> None:
    optimizer = optim.Adam(weights(), lr=0.1)
    foreign = torch.optim.Adam(weights(), lr=0.5).state_dict()
    with pytest.raises(RuntimeError, match="Only IPU optimizer states can be loaded onto the IPU"):
        optimizer.load_state_dict(foreign)
    assert optimizer.param_groups[0]["lr"] == 0.1
    with pytest.raises(RuntimeError, match="empty"):
        optimizer.load_state_dict({})


@pytest.mark.parametrize("kind", EVERY)
def test_copies_and_pickles_keep_what_the_device_needs(kind: type) -> None:
    optimizer = kind(weights(), lr=0.1, loss_scaling=8.0, accum_type=torch.float16)
    optimizer.set_state_dict({"ipu_state": {"s": torch.ones(1)}, "ipu_param": {}})
    optimizer.ipu_state_is_dirty = False
    optimizer.state_dict = dict  # as a wrapped model does
    copies = copy.copy(optimizer), copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))  # noqa: S301
    for other in copies:
        assert other.loss_scaling == 8.0
        assert other.accum_type is torch.float16
        assert other.ipu_state_is_dirty
        assert torch.equal(other.state_dict()["ipu_state"]["s"], torch.ones(1))
        assert convert(other) == convert(optimizer)


@pytest.mark.parametrize("kind", TORCH)
def test_default_optimizers_of_both_kinds_are_the_same_to_the_device(kind: type) -> None:
    ours = getattr(optim, kind.__name__)
    assert convert(kind(weights(), lr=1.0)) == convert(ours(weights(), lr=1.0))


def test_values_that_differ_from_torchs_defaults_are_variable() -> None:
    values = convert(torch.optim.SGD(weights(), lr=0.1, momentum=0.9))["groups"][0]
    assert values["momentum"] == (0.9, False)
    assert values["dampening"] == (0.0, True)
    assert values["learningRate"] == (0.1, False)
    assert convert(torch.optim.Adam(weights(), lr=torch.tensor(0.5)))["groups"][0]["learningRate"] == (
        0.5,
        False,
    )


def test_unsupported_optimizers() -> None:
    with pytest.raises(AssertionError, match="RMSprop"):
        convert(torch.optim.Adagrad(weights(), lr=0.1))
    with pytest.raises(ValueError, match="amsgrad"):
        convert(torch.optim.Adam(weights(), amsgrad=True))
    groups = [{"params": [p], "centered": i == 0} for i, p in enumerate(weights())]
    with pytest.raises(AssertionError, match="centered"):
        convert(optim.RMSprop(groups))


@pytest.mark.parametrize("kind", [*EVERY, *TORCH])
def test_subclasses_are_warned_about(kind: type, caplog: pytest.LogCaptureFixture) -> None:
    text = "Poptorch does not run Python optimizer code directly"
    convert(kind(weights(), lr=0.1))
    assert text not in caplog.text
    convert(type("Mine", (kind,), {})(weights(), lr=0.1))
    assert text in caplog.text


def test_half_precision_accumulation_switches_to_running_means() -> None:
    options = Options()
    convert(optim.Adam(weights(), accum_type=torch.half), options)
    assert options.Training.meanAccumulationAndReplicationReductionStrategy == MeanReductionStrategy.Running
    convert(optim.Adam(weights(), accum_type=torch.half), options, is_compiled=True)
    with pytest.raises(ValueError, match="is already compiled"):
        convert(optim.Adam(weights(), accum_type=torch.half), Options(), is_compiled=True)


@pytest.mark.parametrize("relaxed", [True, False])
def test_attributes_that_appear_later_are_reported_once(
    relaxed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    options = Options().relaxOptimizerAttributesChecks(relaxed)
    tracker = OptimizerAttrTracker(options)
    optimizer = optim.SGD(weights(), lr=0.1)
    optimizer.known = 1
    convert(optimizer, options, tracker)
    optimizer.param_groups[0]["initial_lr"] = 0.1
    optimizer.late = 1
    optimizer._private = optimizer.step
    with caplog.at_level(logging.WARNING):
        convert(optimizer, options, tracker)
        convert(optimizer, options, tracker)
    lines = [record.getMessage() for record in caplog.records if "unexpected" in record.getMessage()]
    if relaxed:
        assert lines == []
    else:
        assert lines == [
            "Ignoring unexpected optimizer attribute in SGD2 optimizer: ['late']",
            "Ignoring unexpected group 0 attribute in SGD2 optimizer: ['initial_lr']",
        ]


def test_spec_of_groups() -> None:
    first, second = weights()
    optimizer = optim.SGD(
        [{"params": [first], "lr": 0.5}, {"params": [second]}], lr=0.1, loss_scaling=4.0, momentum=0.9
    )
    opts = convert(optimizer)
    spec = to_spec(optimizer, opts, lambda tensor: "first" if tensor is first else None)
    assert spec.kind is Kind.SGD
    assert [group.parameters for group in spec.groups] == [("first",), ()]
    assert spec.groups[0].values["learningRate"] == HyperValue(0.5)
    assert spec.groups[1].values["learningRate"] == HyperValue(0.1)
    assert spec.groups[0].values["velocityScaling"] == HyperValue(4.0)
    graph, group, _ = describe(opts, spec)
    assert graph.startswith("Updating graph optimizer with SGD2, defaultDampening=0 (const), ")
    assert (
        "defaultVelocityScaling=4, defaultWeightDecay=0 (const), lossScaling=4, nesterov=0 (const)" in graph
    )
    assert group.startswith("Updating group 0 optimizer with SGD2, dampening=0 (const), learningRate=0.5, ")
    assert group.endswith("(tensors affected [first])")


def test_combined_velocity_has_its_own_scale(caplog: pytest.LogCaptureFixture) -> None:
    optimizer = optim.SGD(weights(), lr=0.1, use_combined_accum=True, velocity_scaling=3.0, loss_scaling=2.0)
    spec = to_spec(optimizer, convert(optimizer), lambda tensor: "w")
    assert spec.use_combined_accum
    assert spec.groups[0].values["velocityScaling"] == HyperValue(3.0)
    assert caplog.text == ""
    optim.SGD(weights(), lr=0.1, velocity_scaling=3.0)
    assert "velocity_scaling" in caplog.text


def test_automatic_loss_scaling_makes_the_scale_variable() -> None:
    options = Options()
    options.Training.setAutomaticLossScaling(True)
    options._Popart.set("automaticLossScalingSettings.binEdgeLocation", 0.5)
    for optimizer in (optim.Adam(weights()), torch.optim.Adam(weights())):
        spec = to_spec(optimizer, convert(optimizer, options), lambda tensor: "w")
        assert spec.loss_scaling == HyperValue(1.0)
        assert spec.automatic_loss_scaling == LossScaleSettings(bin_edge_location=0.5)
