"""The engine's updates against torch's own optimizers, over random hyperparameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.fx.experimental.proxy_tensor import make_fx

from tremula.frontends.torch.optimize.rules import apply_update, hyper_tensors, initial_state
from tremula.frontends.torch.optimize.spec import GroupSpec, HyperValue, Kind, OptimizerSpec

STEPS = 10
SHAPES = {"weight": (4, 3), "bias": (4,), "gain": ()}
few = settings(max_examples=40, deadline=None)
rates = st.floats(1e-4, 0.5)
small = st.sampled_from([0.0, 0.01, 0.3])
fractions = st.sampled_from([0.0, 0.5, 0.9])
flags = st.booleans()


def spec_of(kind: Kind, constant: bool | Callable[[str], bool], **values: float) -> OptimizerSpec:
    """A spec with one group; `constant` says which values are built into the update."""
    is_constant = constant if callable(constant) else lambda _: constant
    group = {key: HyperValue(float(value), is_constant(key)) for key, value in values.items()}
    return OptimizerSpec(kind, (GroupSpec(tuple(SHAPES), group),))


def parameters(seed: int, dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(shape, generator=generator).to(dtype) for name, shape in SHAPES.items()}


def gradients(seed: int) -> Iterator[dict[str, torch.Tensor]]:
    for step in range(STEPS):
        yield parameters(1000 * seed + step + 1)


def ours(spec: OptimizerSpec, seed: int, scale: float = 1.0) -> dict[str, torch.Tensor]:
    weights = parameters(seed)
    state, hyper = initial_state(spec, weights), hyper_tensors(spec)
    for step in gradients(seed):
        apply_update(spec, weights, {name: grad * scale for name, grad in step.items()}, state, hyper)
    return weights


def torchs(
    make: Callable[[list[torch.Tensor]], torch.optim.Optimizer], seed: int, max_norm: float = math.inf
) -> dict[str, torch.Tensor]:
    weights = parameters(seed)
    optimizer = make(list(weights.values()))
    for step in gradients(seed):
        for name, weight in weights.items():
            weight.grad = step[name].clone()
        if max_norm != math.inf:
            torch.nn.utils.clip_grad_norm_(weights.values(), max_norm)
        optimizer.step()
    return weights


def assert_same(actual: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor]) -> None:
    for name, tensor in expected.items():
        torch.testing.assert_close(actual[name], tensor, rtol=1e-5, atol=1e-5)


def sgd_values(**given: float) -> dict[str, float]:
    return {
        "learningRate": 0.1,
        "momentum": 0.0,
        "dampening": 0.0,
        "weightDecay": 0.0,
        "nesterov": 0.0,
        "velocityScaling": 1.0,
        **given,
    }


def adam_values(**given: float) -> dict[str, float]:
    return {"learningRate": 0.1, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weightDecay": 0.0, **given}


def rmsprop_values(**given: float) -> dict[str, float]:
    return {"learningRate": 0.01, "alpha": 0.99, "eps": 1e-8, "weightDecay": 0.0, "momentum": 0.0, **given}


@few
@given(lr=rates, momentum=fractions, decay=small, nesterov=flags, constant=flags, combined=flags)
def test_sgd_is_torchs(
    lr: float, momentum: float, decay: float, nesterov: bool, constant: bool, combined: bool
) -> None:
    nesterov = nesterov and momentum > 0
    values = sgd_values(learningRate=lr, momentum=momentum, weightDecay=decay, nesterov=nesterov)
    spec = spec_of(Kind.SGD, constant, **values)
    spec = OptimizerSpec(spec.kind, spec.groups, use_combined_accum=combined)
    expected = torchs(
        lambda p: torch.optim.SGD(p, lr=lr, momentum=momentum, weight_decay=decay, nesterov=nesterov), 1
    )
    assert_same(ours(spec, 1), expected)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_dampening_weakens_every_gradient(momentum: float) -> None:
    # torch's first step ignores dampening; the device's runtime documents that it does not.
    lr, dampening, decay = 0.1, 0.25, 0.1
    values = sgd_values(learningRate=lr, momentum=momentum, dampening=dampening, weightDecay=decay)
    weights = parameters(2)
    velocity = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    for step in gradients(2):
        for name, weight in weights.items():
            velocity[name] = momentum * velocity[name] + (1 - dampening) * (step[name] + decay * weight)
            weight -= lr * velocity[name]
    assert_same(ours(spec_of(Kind.SGD, False, **values), 2), weights)


@few
@given(lr=rates, beta1=fractions, beta2=st.sampled_from([0.5, 0.9, 0.999]), decay=small, constant=flags)
def test_adam_and_adamw_are_torchs(
    lr: float, beta1: float, beta2: float, decay: float, constant: bool
) -> None:
    values = adam_values(learningRate=lr, beta1=beta1, beta2=beta2, eps=1e-6, weightDecay=decay)
    arguments: dict[str, Any] = {"lr": lr, "betas": (beta1, beta2), "eps": 1e-6, "weight_decay": decay}
    expected = torchs(lambda p: torch.optim.Adam(p, **arguments), 3)
    assert_same(ours(spec_of(Kind.ADAM, constant, **values), 3), expected)
    expected = torchs(lambda p: torch.optim.AdamW(p, **arguments), 3)
    assert_same(ours(spec_of(Kind.ADAMW, constant, **values), 3), expected)


# The centred variant takes the root of a difference: rounding grows with the step, so steps are kept usual.
@few
@given(
    lr=st.sampled_from([1e-3, 1e-2, 0.1]),
    alpha=st.sampled_from([0.5, 0.9, 0.99]),
    momentum=fractions,
    decay=small,
    centered=flags,
)
def test_rmsprop_is_torchs(lr: float, alpha: float, momentum: float, decay: float, centered: bool) -> None:
    values = rmsprop_values(learningRate=lr, alpha=alpha, eps=1e-3, momentum=momentum, weightDecay=decay)
    for constant in (True, False):
        spec = spec_of(Kind.RMSPROP, constant, **values)
        spec = OptimizerSpec(spec.kind, spec.groups, centered=centered)
        expected = torchs(
            lambda p: torch.optim.RMSprop(
                p, lr=lr, alpha=alpha, eps=1e-3, momentum=momentum, weight_decay=decay, centered=centered
            ),
            4,
        )
        assert_same(ours(spec, 4), expected)


@few
@given(momentum=fractions, centered=flags)
def test_rmsprop_tensorflow_variant(momentum: float, centered: bool) -> None:
    lr, alpha, eps = 0.05, 0.9, 1e-3
    weights = parameters(5)
    squares = {name: torch.ones_like(weight) for name, weight in weights.items()}
    means = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    buffers = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    for step in gradients(5):
        for name, weight in weights.items():
            grad = step[name]
            squares[name] = alpha * squares[name] + (1 - alpha) * grad**2
            means[name] = alpha * means[name] + (1 - alpha) * grad
            spread = squares[name] - means[name] ** 2 if centered else squares[name]
            buffers[name] = momentum * buffers[name] + lr * grad / (spread + eps).sqrt()
            weight -= buffers[name]
    values = rmsprop_values(learningRate=lr, alpha=alpha, eps=eps, momentum=momentum)
    spec = spec_of(Kind.RMSPROP, False, **values)
    spec = OptimizerSpec(spec.kind, spec.groups, centered=centered, use_tf_variant=True)
    assert_same(ours(spec, 5), weights)


@few
@given(lr=rates, decay=small, bias_correction=flags, limit=st.sampled_from([0.5, 65500.0]), constant=flags)
def test_lamb(lr: float, decay: float, bias_correction: bool, limit: float, constant: bool) -> None:
    beta1, beta2, eps = 0.9, 0.999, 1e-6
    weights = parameters(6)
    first = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    second = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    for count, step in enumerate(gradients(6), 1):
        for name, weight in weights.items():
            first[name] = beta1 * first[name] + (1 - beta1) * step[name]
            second[name] = beta2 * second[name] + (1 - beta2) * step[name] ** 2
            m = first[name] / (1 - beta1**count) if bias_correction else first[name]
            v = second[name] / (1 - beta2**count) if bias_correction else second[name]
            direction = m / (v.sqrt() + eps) + decay * weight
            weight -= lr * direction * weight.norm().clamp(max=limit) / direction.norm()
    values = adam_values(
        learningRate=lr, beta1=beta1, beta2=beta2, eps=eps, weightDecay=decay, maxWeightNorm=limit
    )
    spec = spec_of(Kind.LAMB, constant, **values)
    spec = OptimizerSpec(spec.kind, spec.groups, bias_correction=bias_correction)
    assert_same(ours(spec, 6), weights)


SPECS: dict[str, tuple[Kind, dict[str, float], dict[str, Any]]] = {
    "sgd": (Kind.SGD, sgd_values(), {}),
    "momentum": (Kind.SGD, sgd_values(momentum=0.9, weightDecay=0.1), {}),
    "nesterov": (Kind.SGD, sgd_values(momentum=0.9, weightDecay=0.1, nesterov=1.0), {}),
    "combined": (Kind.SGD, sgd_values(momentum=0.9, velocityScaling=8.0), {"use_combined_accum": True}),
    "adam": (Kind.ADAM, adam_values(eps=1e-6, weightDecay=0.1), {}),
    "adamw": (Kind.ADAMW, adam_values(eps=1e-6, weightDecay=0.1), {}),
    "lamb": (Kind.LAMB, adam_values(eps=1e-6, weightDecay=0.1, maxWeightNorm=65500.0), {}),
    "rmsprop": (Kind.RMSPROP, rmsprop_values(eps=1e-6, momentum=0.9), {"centered": True}),
}
every_kind = pytest.mark.parametrize("kind", SPECS)


def named_spec(kind: str, constant: bool = False, **extra: Any) -> OptimizerSpec:
    rule, values, more = SPECS[kind]
    return OptimizerSpec(rule, spec_of(rule, constant, **values).groups, **more, **extra)


@every_kind
@pytest.mark.parametrize("constant", [True, False])
def test_loss_scaling_changes_nothing(kind: str, constant: bool) -> None:
    scaled = named_spec(kind, loss_scaling=HyperValue(128.0, constant))
    assert_same(ours(scaled, 7, scale=128.0), ours(named_spec(kind), 7))


@every_kind
def test_gradient_clipping_is_by_global_norm(kind: str) -> None:
    max_norm = 0.5
    weights = parameters(8)
    plain = named_spec(kind)
    state, hyper = initial_state(plain, weights), hyper_tensors(plain)
    for step in gradients(8):
        norm = torch.cat([grad.flatten() for grad in step.values()]).norm()
        clipped = {name: grad * min(1.0, max_norm / norm.item()) for name, grad in step.items()}
        apply_update(plain, weights, clipped, state, hyper)
    limited = named_spec(kind, max_grad_norm=max_norm, loss_scaling=HyperValue(4.0))
    assert_same(ours(limited, 8, scale=4.0), weights)


@every_kind
def test_a_learning_rate_of_zero_keeps_weights(kind: str) -> None:
    rule, values, more = SPECS[kind]
    spec = OptimizerSpec(rule, spec_of(rule, False, **{**values, "learningRate": 0.0}).groups, **more)
    weights = parameters(9)
    state, hyper = initial_state(spec, weights), hyper_tensors(spec)
    apply_update(spec, weights, {name: torch.zeros_like(w) for name, w in weights.items()}, state, hyper)
    for name, weight in parameters(9).items():
        assert torch.equal(weights[name], weight)


@every_kind
def test_missing_gradients_leave_parameters_and_state_alone(kind: str) -> None:
    spec = named_spec(kind)
    weights = parameters(10)
    state, hyper = initial_state(spec, weights), hyper_tensors(spec)
    before = {name: tensor.clone() for name, tensor in state.items()}
    step = next(gradients(10))
    apply_update(spec, weights, {"weight": step["weight"], "bias": None}, state, hyper)
    original = parameters(10)
    assert not torch.equal(weights["weight"], original["weight"])
    assert torch.equal(weights["bias"], original["bias"])
    assert torch.equal(weights["gain"], original["gain"])
    assert all(torch.equal(state[name], before[name]) for name in state if not name.endswith("___weight"))


@every_kind
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("state_type", [torch.float16, torch.float32])
def test_half_precision_computes_in_single(kind: str, dtype: torch.dtype, state_type: torch.dtype) -> None:
    spec = named_spec(kind, first_order_type=state_type, second_order_type=state_type)
    weights = parameters(11, dtype)
    reference = {name: weight.float() for name, weight in weights.items()}
    state, hyper = initial_state(spec, weights), hyper_tensors(spec)
    plain = named_spec(kind)
    reference_state = initial_state(plain, reference)
    step = {name: grad.half() for name, grad in next(gradients(11)).items()}
    apply_update(spec, weights, step, state, hyper)
    apply_update(plain, reference, {name: g.float() for name, g in step.items()}, reference_state, hyper)
    for name, weight in weights.items():
        assert weight.dtype == dtype
        torch.testing.assert_close(weight.float(), reference[name], rtol=2e-3, atol=2e-3)
    if kind not in ("sgd", "combined"):
        assert state["Accl1___weight"].dtype == state_type


@every_kind
def test_one_capture_serves_new_values(kind: str) -> None:
    rule, values, more = SPECS[kind]
    spec = named_spec(kind)
    other = OptimizerSpec(rule, spec_of(rule, False, **{**values, "learningRate": 0.02}).groups, **more)
    weights = parameters(12)
    state = initial_state(spec, weights)
    step = next(gradients(12))

    def run(w: Any, g: Any, s: Any, h: Any) -> None:
        apply_update(spec, w, g, s, h)

    graph = make_fx(run, tracing_mode="fake")(weights, step, state, hyper_tensors(spec))
    for chosen in (spec, other):
        expected, expected_state = parameters(12), initial_state(spec, parameters(12))
        apply_update(chosen, expected, step, expected_state, hyper_tensors(chosen))
        actual, actual_state = parameters(12), initial_state(spec, parameters(12))
        graph(actual, step, actual_state, hyper_tensors(chosen))
        assert_same(actual, expected)
        assert_same(actual_state, expected_state)


def test_sgd_without_momentum_is_one_op_per_parameter() -> None:
    values = {**sgd_values(), "learningRate": 0.1}
    spec = spec_of(Kind.SGD, lambda key: key != "learningRate", **values)

    def run(w: Any, g: Any, h: Any) -> None:
        apply_update(spec, w, g, {}, h)

    graph = make_fx(run, tracing_mode="fake")(parameters(1), next(gradients(1)), hyper_tensors(spec))
    calls = [node for node in graph.graph.nodes if node.op == "call_function"]
    assert len(calls) == len(SHAPES)


def test_names_of_state_and_values() -> None:
    weights = parameters(1)
    sgd = spec_of(Kind.SGD, lambda key: key == "momentum", **sgd_values(learningRate=0.05, weightDecay=0.025))
    sgd = OptimizerSpec(sgd.kind, sgd.groups, loss_scaling=HyperValue(0.75))
    assert initial_state(sgd, weights) == {}
    hyper = hyper_tensors(sgd)
    assert hyper["scaledLearningRate0___specific___bias"].item() == pytest.approx(0.05 / 0.75)
    assert hyper["weightDecayScaleFactor0___specific___bias"].item() == pytest.approx(1 - 0.05 * 0.025)
    assert hyper["lossScaling_FLOAT"].item() == 0.75
    adam = spec_of(Kind.ADAM, False, **adam_values())
    assert {"Accl1___weight", "Accl2___weight", "Step___weight"} <= initial_state(adam, weights).keys()
    assert {"learningRate___specific___bias", "weightDecay___specific___bias"} <= hyper_tensors(adam).keys()
    assert hyper_tensors(spec_of(Kind.ADAM, True, **adam_values())) == {}


def test_groups_have_their_own_values() -> None:
    first = {key: HyperValue(value) for key, value in sgd_values(learningRate=0.0).items()}
    second = {key: HyperValue(value) for key, value in sgd_values(learningRate=0.5).items()}
    spec = OptimizerSpec(Kind.SGD, (GroupSpec(("weight",), first), GroupSpec(("bias",), second)))
    weights, before = parameters(1), parameters(1)
    step = next(gradients(1))
    apply_update(spec, weights, step, initial_state(spec, weights), hyper_tensors(spec))
    assert torch.equal(weights["weight"], before["weight"])
    assert torch.equal(weights["gain"], before["gain"])
    torch.testing.assert_close(weights["bias"], before["bias"] - 0.5 * step["bias"])
