"""Optimizers: which values they take, and that each makes the steps of the formula in its papers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

import popart
from tremula.frontends.torch.optimize.rules import apply_update, hyper_tensors, initial_state
from tremula.frontends.torch.optimize.spec import replaced

Array = np.ndarray


def steps(optimizer: popart.Optimizer, start: Array, gradients: list[Array], scale: float = 1.0) -> Array:
    """A weight after updates with these gradients, which are multiplied by the loss scale before."""
    spec = optimizer._description().spec(["w"])
    weight = {"w": torch.from_numpy(start.copy())}
    state = initial_state(spec, weight)
    for gradient in gradients:
        scaled = {"w": torch.from_numpy(gradient * np.float32(scale))}
        apply_update(spec, weight, scaled, state, hyper_tensors(spec))
    return weight["w"].numpy()


def data(seed: int = 0) -> tuple[Array, list[Array]]:
    random = np.random.default_rng(seed)
    draw = [random.standard_normal((3, 4)).astype(np.float32) for _ in range(6)]
    return draw[0], draw[1:]


def by_torch(make: Callable[[list[torch.Tensor]], torch.optim.Optimizer]) -> Array:
    start, gradients = data()
    weight = torch.nn.Parameter(torch.from_numpy(start.copy()))
    optimizer = make([weight])
    for gradient in gradients:
        weight.grad = torch.from_numpy(gradient)
        optimizer.step()
    return weight.detach().numpy()


SGD_VALUES = {"defaultLearningRate": (0.05, False), "defaultWeightDecay": (0.02, False)}
TORCH_CASES = {
    "sgd": (
        popart.SGD({**SGD_VALUES, "lossScaling": (8.0, False)}),
        lambda w: torch.optim.SGD(w, 0.05, weight_decay=0.02),
    ),
    "momentum": (
        popart.SGD(
            {**SGD_VALUES, "defaultMomentum": (0.9, True), "defaultVelocityScaling": (4.0, True)},
            accumulatorAndMomentum=popart.SGDAccumulatorAndMomentum.Separate,
        ),
        lambda w: torch.optim.SGD(w, 0.05, weight_decay=0.02, momentum=0.9),
    ),
    "combined": (
        popart.SGD({**SGD_VALUES, "defaultMomentum": (0.9, True)}),
        lambda w: torch.optim.SGD(w, 0.05, weight_decay=0.02, momentum=0.9),
    ),
    "nesterov": (
        popart.SGD({**SGD_VALUES, "defaultMomentum": (0.9, False), "nesterov": (1, True)}),
        lambda w: torch.optim.SGD(w, 0.05, weight_decay=0.02, momentum=0.9, nesterov=True),
    ),
    "adam": (
        popart.Adam(
            {"defaultLearningRate": (0.05, True), "defaultEps": (1e-6, True), "lossScaling": (4, True)}
        ),
        lambda w: torch.optim.Adam(w, 0.05, eps=1e-6),
    ),
    "adam with decay of the gradient": (
        popart.Adam(
            {"defaultLearningRate": (0.05, False), "defaultWeightDecay": (0.1, True)},
            weight_decay_mode=popart.WeightDecayMode.L2Regularization,
        ),
        lambda w: torch.optim.Adam(w, 0.05, eps=1e-6, weight_decay=0.1),
    ),
    "adamw": (
        popart.Adam({"defaultLearningRate": (0.05, False), "defaultWeightDecay": (0.1, True)}),
        lambda w: torch.optim.AdamW(w, 0.05, eps=1e-6, weight_decay=0.1),
    ),
    "adagrad": (
        popart.Adaptive(
            {"defaultLearningRate": (0.05, True), "defaultEps": (1e-5, True)}, popart.AdaptiveMode.AdaGrad
        ),
        lambda w: torch.optim.Adagrad(w, 0.05, eps=1e-5),
    ),
    "adadelta": (
        popart.Adaptive(
            {"defaultLearningRate": (0.5, True), "defaultAlpha": (0.8, False)}, popart.AdaptiveMode.AdaDelta
        ),
        lambda w: torch.optim.Adadelta(w, 0.5, rho=0.8, eps=1e-6),
    ),
    "rmsprop": (
        popart.Adaptive(
            {
                "defaultLearningRate": (0.05, True),
                "defaultMomentum": (0.7, True),
                "defaultWeightDecay": (0.1, True),
            },
            popart.AdaptiveMode.CenteredRMSProp,
            popart.WeightDecayMode.L2Regularization,
        ),
        lambda w: torch.optim.RMSprop(w, 0.05, eps=1e-6, momentum=0.7, weight_decay=0.1, centered=True),
    ),
}


@pytest.mark.parametrize("case", TORCH_CASES)
def test_steps_are_those_of_torch(case: str) -> None:
    optimizer, make = TORCH_CASES[case]
    found = steps(optimizer, *data(), scale=optimizer.getLossScalingVal())
    np.testing.assert_allclose(found, by_torch(make), rtol=1e-4, atol=1e-6)


def adamax(weight: Array, gradients: list[Array]) -> Array:
    first, greatest = np.zeros_like(weight), np.zeros_like(weight)
    for t, g in enumerate(gradients, 1):
        first = 0.9 * first + 0.1 * g
        greatest = np.maximum(0.999 * greatest, np.abs(g))
        weight = weight - 0.05 * (first / (1 - 0.9**t) / (greatest + 1e-6) + 0.1 * weight)
    return weight


def lamb(weight: Array, gradients: list[Array]) -> Array:
    first, second = np.zeros_like(weight), np.zeros_like(weight)
    for g in gradients:
        first = 0.9 * first + 0.1 * g
        second = 0.999 * second + 0.001 * g * g
        step = first / (np.sqrt(second) + 1e-6) + 0.1 * weight
        weight = weight - 0.05 * min(np.linalg.norm(weight), 2.0) / np.linalg.norm(step) * step
    return weight


def rmsprop_of_tensorflow(weight: Array, gradients: list[Array]) -> Array:
    squares, momentum = np.ones_like(weight), np.zeros_like(weight)
    for g in gradients:
        squares = 0.9 * squares + 0.1 * g * g
        momentum = 0.7 * momentum + 0.05 * g / np.sqrt(squares + 1e-6)
        weight = weight - momentum - 0.1 * weight
    return weight


RATE_AND_DECAY = {"defaultLearningRate": (0.05, True), "defaultWeightDecay": (0.1, False)}
FORMULAS = {
    "adamax": (popart.Adam(RATE_AND_DECAY, popart.AdamMode.AdaMax), adamax),
    "lamb without bias correction": (
        popart.Adam({**RATE_AND_DECAY, "defaultMaxWeightNorm": (2.0, True)}, popart.AdamMode.LambNoBias),
        lamb,
    ),
    "rmsprop as in TensorFlow": (
        popart.Adaptive(
            {**RATE_AND_DECAY, "defaultAlpha": (0.9, True), "defaultMomentum": (0.7, True)},
            rmsprop_tf_variant=True,
        ),
        rmsprop_of_tensorflow,
    ),
}


@pytest.mark.parametrize("case", FORMULAS)
def test_steps_are_those_of_the_formula(case: str) -> None:
    optimizer, formula = FORMULAS[case]
    np.testing.assert_allclose(steps(optimizer, *data()), formula(*data()), rtol=1e-4, atol=1e-6)


def test_weights_can_have_values_and_limits_of_their_own() -> None:
    optimizer = popart.SGD(
        {"defaultLearningRate": (0.5, True)}, [popart.ClipNormSettings.clipWeights(["a", "b"], 1.0)]
    )
    optimizer.insertSpecific("b", {"learningRate": (0.25, False)})
    assert optimizer.learningRates().get("b") == popart.OptimizerValue(0.25, False)
    assert optimizer.learningRates().getDefault().val() == 0.5
    spec = optimizer._description().spec(["a", "b", "c"])
    weights = {name: torch.zeros(1) for name in "abc"}
    gradients = {"a": torch.tensor([3.0]), "b": torch.tensor([4.0]), "c": torch.tensor([10.0])}
    apply_update(spec, weights, gradients, initial_state(spec, weights), hyper_tensors(spec))
    assert [round(weights[name].item(), 4) for name in "abc"] == [-0.3, -0.2, -5.0]
    other = popart.SGD(
        {"defaultLearningRate": (0.4, True)}, [popart.ClipNormSettings.clipWeights(["a", "b"], 1.0)]
    )
    other.insertSpecific("b", {"learningRate": (0.1, False)})
    with pytest.raises(Exception, match=r"learningRate is a constant, 0.5"):
        replaced(spec, other._description().spec(["a", "b", "c"]))


def test_gradients_of_all_weights_can_be_limited_together() -> None:
    optimizer = popart.ConstSGD(1.0, clip_norm_settings=[popart.ClipNormSettings.clipAllWeights(1.0)])
    spec = optimizer._description().spec(["a", "b"])
    weights = {name: torch.zeros(1) for name in "ab"}
    gradients = {"a": torch.tensor([3.0]), "b": torch.tensor([4.0])}
    apply_update(spec, weights, gradients, {}, {})
    assert [round(weights[name].item(), 4) for name in "ab"] == [-0.6, -0.8]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: popart.SGD({"defaultLearningRate": (0.0, True)}), "^Constant, zero learning rate in SGD"),
        (lambda: popart.SGD({"learningRate": (0.1, True)}), "^Invalid SGD key, learningRate"),
        (lambda: popart.Adam({"defaultEps": (0.0, True)}), "^Non-positive eps"),
        (lambda: popart.Adaptive({"defaultAlpha": 0.5}), "must be a tuple"),
        (lambda: popart.SGD({"lossScaling": (0.0, True)}), "Loss scaling cannot be 0"),
        (lambda: popart.SGD({"defaultMomentum": (-1.0, True)}), "^Negative momentum"),
        (
            lambda: popart.Adaptive({}, popart.AdaptiveMode.AdaGrad, rmsprop_tf_variant=True),
            "only valid with RMSProp",
        ),
        (lambda: popart.SGD({}).insertSpecific("w", {"alpha": (1.0, True)}), "^Invalid key alpha"),
    ],
)
def test_wrong_values_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(popart.popart_exception, match=message):
        make()


def test_a_learning_rate_of_zero_may_be_set_later() -> None:
    assert popart.SGD({"defaultLearningRate": (0.0, False)}).learningRates().getDefault().val() == 0
