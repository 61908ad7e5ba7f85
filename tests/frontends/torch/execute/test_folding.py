"""Inference prepares what depends on weights alone: same numbers, fresh after every change of weights."""

import torch
from torch import nn

from tremula.frontends.torch.execute.folding import folded


def _program(executor, *inputs):
    executor.compile(*inputs)
    return executor._session.program


def test_a_normalisation_is_folded_into_the_convolution_before_it(convolutional, data, inference):
    model = convolutional()
    model.norm.running_mean.uniform_(-1, 1)
    model.norm.running_var.uniform_(0.5, 2)
    x, _ = data(4, image=True)
    executor = inference(model)
    fold = folded(_program(executor, x))
    assert not any("batch_norm" in str(node.target) for node in fold.step.graph.nodes)
    torch.testing.assert_close(executor(x), model.eval()(x))


def test_a_normalisation_of_something_else_stays(data, inference):
    model = nn.Sequential(nn.ReLU(), nn.BatchNorm2d(3))
    model[1].running_mean.fill_(0.3)
    x, _ = data(2, image=True)
    executor = inference(model)
    fold = folded(_program(executor, x))
    assert any("batch_norm" in str(node.target) for node in fold.step.graph.nodes)
    torch.testing.assert_close(executor(x), model.eval()(x))


def test_a_transposed_convolution_is_folded_along_its_own_axis(inference):
    model = nn.Sequential(nn.ConvTranspose2d(3, 5, 2, stride=2, bias=False), nn.BatchNorm2d(5))
    model[1].running_mean.uniform_(-1, 1)
    model[1].weight.data.uniform_(0.5, 2)
    x = torch.randn(2, 3, 4, 4)
    torch.testing.assert_close(inference(model)(x), model.eval()(x))


def test_new_weights_are_prepared_anew(convolutional, data, inference):
    first, second = convolutional(), convolutional()
    x, _ = data(4, image=True)
    executor = inference(first)
    executor(x)
    executor.load_state_dict(second.state_dict())
    torch.testing.assert_close(executor(x), second.eval()(x))


def test_a_result_that_is_made_of_weights_alone_belongs_to_the_user(inference):
    class Weights(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x + self.weight, self.weight * 2

    executor = inference(Weights())
    _, doubled = executor(torch.zeros(3))
    doubled.zero_()
    assert executor(torch.zeros(3))[1].tolist() == [2.0, 2.0, 2.0]


def test_what_is_written_later_is_not_prepared(inference):
    class Accumulates(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            total = self.weight * 2
            total += x
            return total * 1

    executor = inference(Accumulates())
    for _ in range(3):
        assert executor(torch.ones(3)).tolist() == [3.0, 3.0, 3.0]


def test_half_precision_is_not_folded(convolutional, data, inference):
    model = convolutional().half()
    x, _ = data(4, image=True)
    fold = folded(_program(inference(model), x.half()))
    assert any("batch_norm" in str(node.target) for node in fold.step.graph.nodes)


def test_training_is_not_folded(convolutional, data, training):
    assert folded(_program(training(convolutional()), *data(4, image=True))) is None


def test_an_op_whose_name_is_a_keyword_can_be_folded_around(inference):
    class Draws(nn.Module):
        def forward(self, x):
            return (x + 1).random_(5, 100)

    out = inference(Draws())(torch.zeros(50))
    assert ((out >= 5) & (out < 100)).all()


def test_weights_of_small_products_lie_as_they_are_read_and_others_as_they_were(inference):
    small, large = nn.Linear(24, 40), nn.Linear(2000, 1500)
    for layer, batch, transposed in ((small, 8, False), (large, 4, True)):
        x = torch.randn(batch, layer.in_features)
        executor = inference(nn.Sequential(layer))
        fold = folded(_program(executor, x))
        (weight,) = (made for made in fold.prepare(layer.weight, layer.bias) if made.dim() == 2)
        assert weight.shape == layer.weight.t().shape
        assert weight.is_contiguous() is not transposed
        torch.testing.assert_close(executor(x), layer(x))
