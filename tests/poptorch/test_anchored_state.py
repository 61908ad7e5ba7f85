"""Every name that `getTensorNames` lists for parameters, buffers and inputs can be anchored."""

from __future__ import annotations

import torch

import poptorch


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.loss = torch.nn.Linear(4, 4), torch.nn.MSELoss()
        self.register_buffer("offset", torch.arange(3.0))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found = self.layer(x) + self.offset.sum()
        return found, self.loss(found, y)


def test_parameters_buffers_and_inputs_are_anchored_as_each_step_finds_them() -> None:
    options = poptorch.Options().showCompilationProgressBar(False).deviceIterations(2)
    options.outputMode(poptorch.OutputMode.All)
    for name in ("layer.weight", "offset", "input", "UpdatedVar___layer.weight"):
        options.anchorTensor(name, name)
    module = Model()
    before = module.layer.weight.detach().clone()
    model = poptorch.trainingModel(module, options, poptorch.optim.SGD(module.parameters(), lr=0.1))
    x = torch.arange(16.0).reshape(4, 4)
    model(x, torch.ones(4, 4))
    found = model.getAnchoredTensor("layer.weight")
    assert torch.equal(found[:4], before), "the first step"
    assert not torch.equal(found[4:], before), "the second step finds what the first one left"
    assert not torch.equal(found[4:], model.getAnchoredTensor("UpdatedVar___layer.weight"))
    assert model.getAnchoredTensor("offset").tolist() == [0.0, 1.0, 2.0] * 2
    assert torch.equal(model.getAnchoredTensor("input"), x)
