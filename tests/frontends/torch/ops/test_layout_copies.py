"""Custom ops of public programs that move a tensor on the tiles: values and gradients stay, attributes are taken."""

import pytest
import torch

import poptorch

#: as GPT-2, then Swin, MAE and Conformer, then YOLOv4 call them
CALLS = [
    ("RemapCE", {"grain_size": 8}),
    (
        "RemapCE",
        {
            "fwd_grain_size": 16,
            "bwd_grain_size": 16,
            "fwd_clone_layout": 0,
            "bwd_clone_layout": 1,
            "fwd_after_matmul": 0,
            "bwd_after_matmul": 1,
            "debug_str": "out",
        },
    ),
    ("CopyTensor", {}),
]


class Model(torch.nn.Module):
    def __init__(self, name=None, attributes=None):
        super().__init__()
        torch.manual_seed(1)
        self.dense, self.name, self.attributes = torch.nn.Linear(3, 2), name, attributes

    def forward(self, x):
        out = self.dense(x)
        if self.name:
            (out,) = poptorch.custom_op(
                [out], self.name, "ai.graphcore", 1, example_outputs=[out], attributes=self.attributes
            )
        return out, poptorch.identity_loss((out * out).sum(), reduction="none")


def trained(model):
    training = poptorch.trainingModel(model, optimizer=poptorch.optim.SGD(model.parameters(), lr=0.1))
    out, _ = training(torch.arange(6.0).reshape(2, 3))
    return out, model.dense.weight.detach().clone()


@pytest.mark.parametrize(("name", "attributes"), CALLS)
def test_training_is_as_without_the_op(name, attributes):
    for found, expected in zip(trained(Model(name, attributes)), trained(Model()), strict=True):
        assert torch.equal(found, expected)


def test_an_unknown_attribute_is_named():
    with pytest.raises(poptorch.Error, match=r"RemapCE of domain ai\.graphcore.* has no attribute grains"):
        trained(Model("RemapCE", {"grains": 8}))
