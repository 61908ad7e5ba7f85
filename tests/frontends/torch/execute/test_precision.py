"""Half precision: stochastic rounding is unbiased, half partials cost accuracy, both only where asked for."""

import torch

import poptorch


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


def test_a_model_repeats_its_roundings_under_a_seed(session):
    def run(seed: int) -> list[float]:
        torch.manual_seed(0)
        x = torch.linspace(-1, 1, 256).view(4, 64).half()
        model = session(torch.nn.Linear(64, 16).half(), x, seed=seed, stochastic_rounding=True)
        return [model.run([x])[0][0].tolist() for _ in range(2)]

    assert run(1) == run(1)
    assert run(1) != run(2)
    first, second = run(1)
    assert first != second


def test_half_partials_cost_accuracy(session):
    torch.manual_seed(0)
    layer = torch.nn.Linear(512, 64, bias=False).half()
    x = torch.rand(8, 512).half()
    exact = x.double() @ layer.weight.detach().double().T

    def error(half_partials: bool) -> float:
        (found,) = session(layer, x, half_partials=half_partials).run([x])[0]
        return (found.double() - exact).abs().mean().item()

    assert error(False) < error(True) < 0.01


def test_statistics_in_half_are_written_with_and_without_stochastic_rounding(session):
    x = torch.tensor([[1.0, 10.0], [3.0, 30.0]]).half()
    for stochastic in (False, True):
        norm = torch.nn.BatchNorm1d(2, momentum=1.0).half()
        model = session(norm, x, seed=0, stochastic_rounding=stochastic)
        model.run([x])
        assert model.executable.read_state()["running_mean"].tolist() == [2.0, 20.0]
