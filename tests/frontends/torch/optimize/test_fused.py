"""Adam by torch's fused kernels computes what the captured update computes, where it takes its place."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tremula.frontends.torch.optimize.fused import fused_update
from tremula.frontends.torch.optimize.rules import apply_update, hyper_tensors, initial_state
from tremula.frontends.torch.optimize.spec import (
    GroupSpec,
    HyperValue,
    Kind,
    LossScaleSettings,
    OptimizerSpec,
)


def _group(names, rate, decay, constant):
    values = {"learningRate": rate, "weightDecay": decay, "beta1": 0.9, "beta2": 0.99, "eps": 1e-6}
    return GroupSpec(names, {key: HyperValue(value, constant) for key, value in values.items()})


def _spec(kind=Kind.ADAM, decay=0.0, constant=False, scaling=1.0, **rest):
    groups = (_group(("a", "b"), 0.01, decay, constant), _group(("c",), 0.1, 0.0, constant))
    return OptimizerSpec(kind, groups, loss_scaling=HyperValue(scaling, constant), **rest)


def _parameters():
    conv = torch.randn(4, 3, 3, 3).contiguous(memory_format=torch.channels_last)
    return {"a": conv, "b": torch.randn(5), "c": torch.randn(3, 2)}


@given(
    kind=st.sampled_from([Kind.ADAM, Kind.ADAMW]),
    decay=st.sampled_from([0.0, 0.1]),
    constant=st.booleans(),
    scaling=st.sampled_from([1.0, 64.0]),
)
def test_steps_agree_with_the_captured_update(kind, decay, constant, scaling):
    spec = _spec(kind, decay, constant, scaling)
    fused_weights = _parameters()
    plain_weights = {name: tensor.clone() for name, tensor in fused_weights.items()}
    fused_state, plain_state = (initial_state(spec, w) for w in (fused_weights, plain_weights))
    hyper = hyper_tensors(spec)
    update = fused_update(spec, fused_weights, fused_state, hyper)
    for _ in range(3):
        # other strides than the weights', as a backward pass may give
        gradients = {n: torch.randn(w.shape) * scaling for n, w in fused_weights.items()}
        before = [gradient.clone() for gradient in gradients.values()]
        update(*fused_weights.values(), *gradients.values(), *fused_state.values(), *hyper.values())
        for gradient, value in zip(gradients.values(), before, strict=True):
            assert torch.equal(gradient, value)
        apply_update(spec, plain_weights, gradients, plain_state, hyper)
    for name, weight in plain_weights.items():
        torch.testing.assert_close(fused_weights[name], weight)
    for name, tensor in plain_state.items():
        torch.testing.assert_close(fused_state[name], tensor)


@pytest.mark.parametrize(
    "spec",
    [
        _spec(Kind.LAMB),
        _spec(max_grad_norm=1.0),
        _spec(bias_correction=False),
        _spec(automatic_loss_scaling=LossScaleSettings()),
    ],
    ids=["lamb", "clipping", "no bias correction", "automatic loss scaling"],
)
def test_other_rules_have_no_fused_kernel(spec):
    parameters = {"a": torch.randn(3)}
    values = {**spec.groups[0].values, "maxWeightNorm": HyperValue(10.0, True)}
    spec = OptimizerSpec(
        spec.kind,
        (GroupSpec(("a",), values),),
        max_grad_norm=spec.max_grad_norm,
        bias_correction=spec.bias_correction,
        automatic_loss_scaling=spec.automatic_loss_scaling,
    )
    assert fused_update(spec, parameters, initial_state(spec, parameters), hyper_tensors(spec)) is None


def test_half_precision_has_no_fused_kernel():
    spec = _spec()
    weights = {name: tensor.half() for name, tensor in _parameters().items()}
    assert fused_update(spec, weights, initial_state(spec, weights), hyper_tensors(spec)) is None
