"""Nothing is left out: every op of real programs, and every op that PopTorch is known to support."""

from collections import Counter

import pytest
import torch
from torch import nn
from torch.nn import functional

import poptorch
from tremula.frontends.torch.capture.support_table import KNOWN_OPS
from tremula.frontends.torch.graphs.listing import ops
from tremula.frontends.torch.rules.elementwise import PASSES
from tremula.frontends.torch.rules.handlers import HANDLERS
from tremula.frontends.torch.rules.lower import lower, unknown_work
from tremula.plan.elementwise_vertices import resolve
from tremula.program.work import Elementwise, MatMul

#: known to PopTorch, never recorded as such here: brought by packages that are not a part of torch
OTHER_PACKAGES = {
    "torch_cluster::grid",
    "torch_spline_conv::spline_basis",
    "torch_spline_conv::spline_weighting",
}
#: recorded as `tremula::ctc_loss`, which no planner knows
NO_PLANNER = {"ctc_loss"}
#: written by the capture in ops of static shape
WRITTEN_OTHERWISE = {"bincount"}


def is_composite(name):
    """Whether torch takes an op apart before anything is recorded."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        return True  # a name of older torch versions
    return any(getattr(packet, overload).has_kernel_for_dispatch_key(key) for overload in packet.overloads())


def test_every_supported_op_has_a_rule_or_is_taken_apart_before():
    missing = {
        name
        for name in KNOWN_OPS
        if name not in HANDLERS | dict.fromkeys(OTHER_PACKAGES | NO_PLANNER | WRITTEN_OTHERWISE)
        and not is_composite(name)
    }
    assert missing == set()
    assert sum(name in HANDLERS for name in KNOWN_OPS) > 260


def test_every_element_wise_operation_is_in_the_cycle_table():
    unknown = {name: resolve(passed)[1] for name, passes in PASSES.items() for passed in passes}
    assert {name: parts for name, parts in unknown.items() if parts} == {}


class Loss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, y):
        out = self.model(x)
        return out, functional.cross_entropy(out, y)


def convolutional(dims):
    convolution = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[dims - 1]
    norm = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[dims - 1]
    pool = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)[dims - 1]
    mean = (nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d)[dims - 1]
    return nn.Sequential(
        convolution(3, 8, 3, padding=1), norm(8), nn.ReLU(), pool(2),
        convolution(8, 8, 3, padding=1, groups=8, stride=2, bias=False), nn.SiLU(),
        convolution(8, 16, 1), nn.GroupNorm(2, 16), nn.GELU(), nn.Dropout(0.2), mean(1), nn.Flatten(),
        nn.Linear(16, 5),
    )  # fmt: skip


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embed, self.layer, self.out = nn.Embedding(20, 6), kind(6, 7, batch_first=True), nn.Linear(7, 5)

    def forward(self, x):
        return self.out(self.layer(self.embed(x))[0][:, -1])


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.embed, self.layers, self.out = (
            nn.Embedding(20, 8),
            nn.TransformerEncoder(layer, 2),
            nn.Linear(8, 5),
        )

    def forward(self, x):
        return self.out(self.layers(self.embed(x)).mean(1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.deep = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 8, 3, stride=2, padding=1)
        self.up, self.last = nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Conv2d(8, 5, 3, padding=1)

    def forward(self, x):
        shallow = functional.leaky_relu(self.down(x))
        deep = torch.relu(self.deep(shallow))
        wide = functional.interpolate(deep, scale_factor=2).mean()
        return self.last(torch.cat([shallow, self.up(deep)], 1)).mean((2, 3)) + wide


TOKENS = torch.zeros(4, 5, dtype=torch.long)
MODELS = {
    "1d": (lambda: convolutional(1), torch.randn(4, 3, 8), poptorch.optim.SGD),
    "2d": (lambda: convolutional(2), torch.randn(4, 3, 8, 8), poptorch.optim.AdamW),
    "3d": (lambda: convolutional(3), torch.randn(4, 3, 4, 4, 4), poptorch.optim.RMSprop),
    "unet": (UNet, torch.randn(4, 3, 8, 8), poptorch.optim.Adam),
    "lstm": (lambda: Recurrent(nn.LSTM), TOKENS, poptorch.optim.SGD),
    "gru": (lambda: Recurrent(nn.GRU), TOKENS, poptorch.optim.SGD),
    "transformer": (Transformer, TOKENS, poptorch.optim.LAMB),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_op_of_a_program_is_lowered_to_known_work(training_program, name):
    make, x, optimizer = MODELS[name]
    options = poptorch.Options()
    options.Training.gradientAccumulation(2)
    program = training_program(
        Loss(make()),
        lambda parameters: optimizer(parameters, lr=0.1),
        torch.cat([x, x]),
        torch.zeros(8, dtype=torch.long),
        options=options,
    )
    lowered = lower(program)
    assert [op.op.name for op in lowered] == [op.name for op in ops(program)]
    assert unknown_work(lowered) == ()
    kinds = Counter(op.kind for op in lowered)
    assert set(kinds) <= {"compute", "copy", "view", "hint", "constant", "fused", "host"}
    for op in lowered:
        assert len(op.lowered.shares) == len(op.op.outputs)
        assert bool(op.works) or op.kind in ("view", "hint", "constant", "fused")
        for work in op.works:
            assert all(extent >= 0 for extent in vars(work).values() if isinstance(extent, int))
            if isinstance(work, Elementwise):
                assert resolve(work.operation)[1] == frozenset()
    roles = Counter(w.role for op in lowered for w in op.works if isinstance(w, MatMul))
    assert roles["forward"] == roles["weight_gradient"]
