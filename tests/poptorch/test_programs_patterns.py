"""Sequences of calls that whole programs make and that once went wrong: each test is such a program, small."""

import copy
import pickle

import pytest
import torch

import poptorch
from poptorch import _impl


class Classifier(torch.nn.Module):
    """A convolution, a norm and a loss: enough for mixed precision to have something to mix."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 6, 3)
        self.norm = torch.nn.GroupNorm(3, 6)
        self.out = torch.nn.Linear(6 * 16, 5)

    def forward(self, images, labels=None):
        hidden = self.norm(torch.relu(self.conv(images)))
        scores = torch.log_softmax(self.out(hidden.flatten(1)), dim=1)
        if labels is None:
            return scores
        return scores, torch.nn.functional.nll_loss(scores, labels)


def batch(dtype=torch.float32):
    return torch.randn(4, 1, 6, 6).to(dtype), torch.randint(0, 5, (4,))


def quiet(options=None):
    return (options or poptorch.Options()).showCompilationProgressBar(False)


def test_train_destroy_infer_destroy_train_again():
    """The compilation of the inference model must not put the destroyed training model's classes back on."""
    model = Classifier()
    images, labels = batch()
    losses = []
    for _ in range(3):
        training = poptorch.trainingModel(model, quiet())
        losses += [training(images, labels)[1] for _ in range(3)]
        training.destroy()
        assert type(model) is Classifier
        inference = poptorch.inferenceModel(model, quiet())
        torch.testing.assert_close(inference(images), model(images))
        inference.destroy()
        assert not _impl.isWrapped(model)
        assert all(type(parameter) is torch.nn.Parameter for parameter in model.parameters())
    assert losses == sorted(losses, reverse=True)


def test_destroyed_model_stays_plain_in_copies():
    model = Classifier()
    training = poptorch.trainingModel(model, quiet())
    training(*batch())
    training.destroy()
    for twin in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):  # noqa: S301
        assert type(twin) is Classifier
        assert all(type(parameter) is torch.nn.Parameter for parameter in twin.parameters())


def test_wrapped_model_stays_wrapped_through_the_compilation_of_another():
    """The other direction: what is wrapped must come out of a compilation wrapped."""
    model = Classifier()
    training = poptorch.trainingModel(model, quiet())
    images, labels = batch()
    training(images, labels)
    before = model.conv.weight.detach().clone()
    for _ in range(2):
        inference = poptorch.inferenceModel(model, quiet())
        inference(images)
        inference.destroy()
        assert _impl.isWrapped(model)
        assert all(_impl.isWrapped(parameter) for parameter in model.parameters())
    training(images, labels)
    assert not torch.equal(model.conv.weight, before)


@pytest.mark.parametrize("half_partials", [False, True])
def test_half_precision_classifier_trains_with_stochastic_rounding(half_partials):
    """Gradients that are told the dtype of the forward's input (log_softmax has one) are computed widened too."""
    model = Classifier().half()
    options = quiet()
    options.Precision.enableStochasticRounding(True)
    options.Precision.setPartialsType(torch.half if half_partials else torch.float)
    optimizer = poptorch.optim.AdamW(model.parameters(), lr=0.01, accum_type=torch.float16, loss_scaling=128)
    images, labels = batch(torch.half)
    reference = torch.nn.functional.nll_loss(copy.deepcopy(model).float()(images.float()), labels)
    training = poptorch.trainingModel(model, options, optimizer)
    losses = [training(images, labels)[1] for _ in range(10)]
    assert losses[0].dtype is torch.half
    torch.testing.assert_close(losses[0].float(), reference, rtol=0.02, atol=0.0)
    assert losses[-1] < 0.8 * losses[0]


class _MovesItsConstant(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.tensor([2.0, 3.0])  # no buffer: it is moved to the input's device in forward

    def forward(self, x):
        self.scale = self.scale.to(x.device)
        return x * self.scale


def test_a_part_that_moves_a_plain_tensor_in_forward_runs_on_the_host_and_compiles_again():
    part = _MovesItsConstant()
    model = torch.nn.Sequential(part)
    x = torch.ones(1, 2)
    first = poptorch.inferenceModel(model)
    assert torch.equal(first(x), torch.tensor([[2.0, 3.0]]))
    assert type(part.scale) is torch.Tensor
    assert torch.equal(model(x), torch.tensor([[2.0, 3.0]]))
    first.destroy()
    assert torch.equal(poptorch.inferenceModel(model)(x), torch.tensor([[2.0, 3.0]]))
