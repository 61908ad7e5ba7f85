"""The custom op that comes with PopTorch: values, gradient, and the shapes that it refuses."""

import pytest
import torch

import poptorch
from tremula.frontends.torch.ops.fast_gather import DOMAIN, NAME


class Model(torch.nn.Module):
    def __init__(self, data):
        super().__init__()
        self.data = torch.nn.Parameter(data)

    def forward(self, index):
        example = torch.zeros(index.shape)
        (out,) = poptorch.custom_op([self.data, index], NAME, DOMAIN, 1, example_outputs=[example])
        return out, poptorch.identity_loss((out * out).sum(), reduction="none")


DATA = torch.arange(12.0).reshape(1, 3, 4)
INDEX = torch.tensor([[[0, 0], [3, 1], [2, 2]]])


def test_values_and_gradient_are_those_of_gather():
    model = Model(DATA.clone())
    training = poptorch.trainingModel(model, optimizer=poptorch.optim.SGD(model.parameters(), lr=1.0))
    out, _ = training(INDEX)
    data = DATA.clone().requires_grad_()
    expected = data.gather(-1, INDEX)
    (expected * expected).sum().backward()
    assert torch.equal(out, expected.detach())
    assert torch.equal(model.data.detach(), DATA - data.grad)


def test_an_index_of_another_shape_is_refused():
    with pytest.raises(poptorch.Error, match="must agree in all but the last extent"):
        poptorch.inferenceModel(Model(DATA))(INDEX[:, :1])
