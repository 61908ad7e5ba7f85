"""The custom op that comes with PopTorch: values, gradient, and the shapes that it refuses."""

import pytest
import torch

import poptorch
from tremula.frontends.torch.ops.fast_gather import DOMAIN, NAME


class Model(torch.nn.Module):
    def __init__(self, data, **attributes):
        super().__init__()
        self.attributes = attributes
        self.data = torch.nn.Parameter(data)

    def forward(self, index):
        example = torch.zeros(index.shape)
        (out,) = poptorch.custom_op(
            [self.data, index], NAME, DOMAIN, 1, example_outputs=[example], attributes=self.attributes
        )
        return out, poptorch.identity_loss((out * out).sum(), reduction="none")


DATA = torch.arange(12.0).reshape(1, 3, 4)
INDEX = torch.tensor([[[0, 0], [3, 1], [2, 2]]])


@pytest.mark.parametrize("attributes", [{}, {"axis": -1}, {"axis": 2, "debug_str": "gather"}], ids=str)
def test_values_and_gradient_are_those_of_gather(attributes):
    """Public programs (DeBERTa in optimum-graphcore) pass the axis, although it can only be the last."""
    model = Model(DATA.clone(), **attributes)
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


def test_another_axis_is_refused():
    with pytest.raises(poptorch.Error, match="axis is 1, but this op gathers along the last dimension"):
        poptorch.inferenceModel(Model(DATA, axis=1))(INDEX)


def test_an_unknown_attribute_is_named_with_the_op():
    with pytest.raises(poptorch.Error, match=f"{NAME} of domain .* has no attribute dim") as caught:
        poptorch.inferenceModel(Model(DATA, dim=-1))(INDEX)
    assert "takes the attributes: axis, debug_str" in str(caught.value)
