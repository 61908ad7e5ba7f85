"""Half precision: stochastic rounding is unbiased, half partials cost accuracy, both only where asked for."""

import torch
from hypothesis import given
from hypothesis import strategies as st

import poptorch
from tremula.frontends.torch.execute.precision import _product, round_stochastically


@given(st.floats(-60000, 60000, width=32))
def test_stochastic_rounding_gives_a_neighbour(value):
    tensor = torch.full((64,), value, dtype=torch.float32)
    nearest = torch.tensor(value).half()
    step = torch.finfo(torch.float16).eps * max(abs(value), 2.0**-14)
    rounded = round_stochastically(tensor).float()
    assert ((rounded - value).abs() <= step).all()
    if nearest.float().item() == value:
        assert (rounded == value).all()


def test_stochastic_rounding_is_unbiased():
    torch.manual_seed(0)
    value = 1.0 + 0.3 * torch.finfo(torch.float16).eps  # 30 % of the way to the next number
    mean = round_stochastically(torch.full((200_000,), value)).float().mean().item()
    assert abs(mean - value) < 0.01 * torch.finfo(torch.float16).eps


def test_infinities_and_nans_stay():
    special = torch.tensor([float("inf"), -float("inf"), float("nan")])
    rounded = round_stochastically(special)
    assert torch.equal(rounded[:2], special[:2].half())
    assert rounded[2].isnan()


def test_small_updates_survive_in_half_only_with_stochastic_rounding():
    def train(stochastic: bool) -> float:
        model = torch.nn.Linear(1, 1, bias=False).half()
        torch.nn.init.ones_(model.weight)
        options = poptorch.Options().randomSeed(1)
        options.Precision.enableStochasticRounding(stochastic)

        class WithLoss(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = model

            def forward(self, x):
                return poptorch.identity_loss(self.layer(x), reduction="sum")

        wrapped = WithLoss()
        optimizer = poptorch.optim.SGD(wrapped.parameters(), lr=1e-4)
        training = poptorch.trainingModel(wrapped, options, optimizer)
        for _ in range(200):
            training(torch.ones(1, 1).half())
        return wrapped.layer.weight.item()

    assert train(False) == 1.0  # each step is below half the distance to the next float16
    assert abs(train(True) - 0.98) < 0.01


def test_half_partials_are_less_exact_than_float_partials():
    torch.manual_seed(0)
    left, right = torch.rand(8, 512).half(), torch.rand(512, 8).half()
    exact = left.double() @ right.double()
    with_float = ((left @ right).double() - exact).abs().mean()
    with_half = (_product(left, right).double() - exact).abs().mean()
    assert with_half > with_float
    assert with_half / exact.mean() < 2e-3


def test_statistics_in_half_are_written_with_and_without_stochastic_rounding():
    for stochastic in (False, True):
        norm = torch.nn.BatchNorm1d(2, momentum=1.0).half()
        options = poptorch.Options().randomSeed(0)
        options.Precision.enableStochasticRounding(stochastic)
        model = poptorch.inferenceModel(norm, options)
        model(torch.tensor([[1.0, 10.0], [3.0, 30.0]]).half())
        model.copyWeightsToHost()
        assert model.model.running_mean.tolist() == [2.0, 20.0]
